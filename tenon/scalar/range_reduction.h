// Exact reduction by pi/2, for arguments of any size: x = turns * (pi/2) + remainder.
//
// Payne and Hanek 1983: only a window of the bits of 2/pi around the argument's exponent can matter, so the product is
// an integer multiplication. Integers and one correctly rounded conversion: the same bits on every machine.
// Only C here: kernels compiled for one instruction set declare these.
#pragma once

namespace tenon::scalar {

// The number of quarter turns in x, modulo 4: 0, 1, 2 or 3. For |x| >= 1, finite; NaN for an infinity or NaN.
float quarter_turns(float x) noexcept;
// What is left of x, in [-pi/4, pi/4], rounded once (relative error below 2^-23.9 for every float).
float quarter_turn_remainder(float x) noexcept;

struct Reduced {
    int turns = 0;         // modulo 4
    double remainder = 0;  // remainder + low is within 2^-100 relative of the true remainder
    double low = 0;
};
// The same for f64, |x| >= 1 and finite.
Reduced reduce_quarter_turns(double x) noexcept;

}  // namespace tenon::scalar
