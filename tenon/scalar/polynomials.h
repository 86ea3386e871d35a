// The elementary functions in f32: one polynomial, one order, explicit fma.
//
// Templates over the number: with Expr they build the graph that every kernel is printed from, with Single they
// compute. Coefficients are minimax fits (Sollya's fpminimax, relative error, f32 coefficients); the fit's own error is
// given beside each, in relative terms, and the whole function's error in ulp, over all floats, in README.md.
#pragma once

#include <limits>

#include "tenon/scalar/expr.h"

namespace tenon::scalar::polynomials {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts; the first has ten bits, so n * kLn2High is exact for |n| <= 2^14.
inline constexpr double kLn2High = 0.693359375, kLn2Low = -2.1219444170128554e-4;
inline constexpr double kLog2E = 1.4426950408889634;

// c[0] + x c[1] + x^2 c[2] + …, by Horner.
template <class Real, int count>
Real polynomial(Real x, const double (&c)[count]) {
    Real p = c[count - 1];
    for (int i = count - 2; i >= 0; --i) p = fma(p, x, Real(c[i]));
    return p;
}

// e^r on [-0.3475, 0.3475]; 3.3e-9.
template <class Real>
Real exp_near_zero(Real r) {
    return polynomial(r, {1, 1, 0.4999999105930328, 0.16666519641876220703125, 4.16689552366733551025390625e-2,
                          8.36885161697864532470703125e-3, 1.37835857458412647247314453125e-3});
}

// e^(x + low) for |low| below 2^-12 |x|: n = round(x / ln 2), e^x = 2^n e^(x - n ln 2).
template <class Real>
Real exp_sum(Real x, Real low, bool has_low) {
    // Beyond these the result is 0 or infinity anyway. A NaN passes as the second operand.
    const Real inside = min(Real(89.5), max(Real(-105), x));
    const Real n = round(inside * Real(kLog2E));
    Real r = fma(n, Real(-kLn2High), inside);
    r = fma(n, Real(-kLn2Low), r);
    if (has_low) r = r + select(inside == x, low, Real(0.0));
    return ldexp(exp_near_zero(r), n);
}

template <class Real>
Real exp(Real x) {
    return exp_sum(x, Real(0.0), false);
}

// A positive x as m * 2^e with m in [2/3, 4/3), so that log m has no cancellation with e ln 2.
template <class Real>
struct Split {
    Real m, e;
};
template <class Real>
Split<Real> split(Real x) {
    const auto small = x < Real(0x1p-126);
    const Real normal = select(small, x * Real(0x1p25), x);
    // 3/4 x >= 2^k exactly where x >= 4/3 2^k.
    const Real e = exponent(normal * Real(0.75)) + Real(1.0);
    return {ldexp(normal, -e), e - select(small, Real(25.0), Real(0.0))};
}

// (log(1 + f) - f + f^2/2) / f^3 on [-1/3, 1/3]; log's own error 4.7e-9.
template <class Real>
Real log_tail(Real f) {
    return polynomial(f, {0.3333321511745452880859375, -0.24999797344207763671875, 0.20010446012020111083984375,
                          -0.1668050587177276611328125, 0.14005304872989654541015625, -0.12183971703052520751953125,
                          0.139869153499603271484375, -0.12893040478229522705078125});
}

// log x = e ln 2 + log m.
template <class Real>
Real log(Real x) {
    const Split<Real> s = split(x);
    const Real f = s.m - Real(1.0), square = f * f;
    const Real log_m = fma(square, fma(f, log_tail(f), Real(-0.5)), f);
    Real y = fma(s.e, Real(kLn2High), fma(s.e, Real(kLn2Low), log_m));
    y = select(x < Real(kInfinity), y, x);  // infinity and NaN
    return select(x > Real(0.0), y, select(x == Real(0.0), Real(-kInfinity), Real(kNan)));
}

// x = turns * pi/2 + r, |r| <= pi/4 and a little.
template <class Real>
struct Turns {
    Real turns;  // modulo 4: 0, 1, 2, 3
    Real r;
};
// To |x| = 65536 by Cody and Waite in three parts of pi/2, the first of whose products cancels exactly in the fma;
// beyond by Payne and Hanek in integers (range_reduction.h).
template <class Real>
Turns<Real> reduce(Real x) {
    // Adding and taking away 1.5 * 2^23 rounds to an integer.
    const Real big = 12582912.0;
    const Real n = fma(x, Real(0.6366197723675814), big) - big;
    Real r = fma(n, Real(-1.5707963705062866), x);
    r = fma(n, Real(4.371138828673793e-08), r);
    r = fma(n, Real(1.7151245100058819e-15), r);
    const Real turns = fma(floor(n * Real(0.25)), Real(-4.0), n);
    const auto far = !(abs(x) <= Real(65536.0));
    return {call_where(far, Function::quarter_turns, x, turns),
            call_where(far, Function::quarter_turn_remainder, x, r)};
}

// sin r on [-0.7866, 0.7866]; 2.0e-10.
template <class Real>
Real sin_near_zero(Real r, Real square) {
    const Real p = polynomial(square, {-0.16666667163372039794921875, 8.33337195217609405517578125e-3,
                                       -1.98498993995599448680877685546875e-4, 2.800314177875407040119171142578125e-6});
    return fma(r * square, p, r);
}
// cos r there; 1.2e-10.
template <class Real>
Real cos_near_zero(Real square) {
    return polynomial(square, {1, -0.5, 4.16666455566883087158203125e-2, -1.3887309469282627105712890625e-3,
                               2.4432321879430674016475677490234375e-5});
}

template <class Real>
Real sin(Real x) {
    const Turns<Real> t = reduce(x);
    const Real square = t.r * t.r;
    const auto odd = t.turns == Real(1.0) || t.turns == Real(3.0);
    const Real y = select(odd, cos_near_zero(square), sin_near_zero(t.r, square));
    // The tail of the polynomial has the other sign, so that -0 would come out as +0.
    return select(x == Real(0.0), x, select(t.turns >= Real(2.0), -y, y));
}

template <class Real>
Real cos(Real x) {
    const Turns<Real> t = reduce(x);
    const Real square = t.r * t.r;
    const auto odd = t.turns == Real(1.0) || t.turns == Real(3.0);
    const Real y = select(odd, sin_near_zero(t.r, square), cos_near_zero(square));
    return select(t.turns == Real(1.0) || t.turns == Real(2.0), -y, y);
}

// Below 0.55 a polynomial (2.8e-9 on [-0.6, 0.6]); above, 1 - 2 / (e^2|x| + 1).
template <class Real>
Real tanh(Real x) {
    const Real square = x * x, size = abs(x);
    const Real p = polynomial(
        square, {-0.3333329856395721435546875, 0.13331936299800872802734375, -5.37847168743610382080078125e-2,
                 2.079862542450428009033203125e-2, -5.8979666791856288909912109375e-3});
    const Real near = fma(x * square, p, x);
    const Real far = Real(1.0) - Real(2.0) / (exp(size + size) + Real(1.0));
    const Real y = select(size < Real(0.55), near, select(x < Real(0.0), -far, far));
    return select(x == Real(0.0), x, y);
}

template <class Real>
Real sigmoid(Real x) {
    return Real(1.0) / (Real(1.0) + exp(-x));
}

// Below 0.93 a polynomial (9.8e-10 on [-0.95, 0.95]); above, 1 - e^q with q = log(erfc |x|) (1.2e-8 on [0.92, 3.95]).
template <class Real>
Real erf(Real x) {
    const Real square = x * x, size = min(Real(4.0), abs(x));
    const Real p =
        polynomial(square, {0.128379166126251220703125, -0.37612628936767578125, 0.112836323678493499755859375,
                            -2.685632742941379547119140625e-2, 5.1941969431936740875244140625e-3,
                            -8.07198113761842250823974609375e-4, 8.0941594205796718597412109375e-5});
    const Real near = fma(x, p, x);
    const Real q =
        size *
        polynomial(size, {-1.12874352931976318359375, -0.634803473949432373046875, -0.106724165380001068115234375,
                          2.40671224892139434814453125e-2, -3.6922269500792026519775390625e-3,
                          2.8340393328107893466949462890625e-4, 1.15101893243263475596904754638671875e-5,
                          -4.37692642663023434579372406005859375e-6, 2.72735888984243509017077167510986328125e-7});
    const Real far = Real(1.0) - exp(q);
    return select(size < Real(0.93), near, select(x < Real(0.0), -far, far));
}

// x^y = e^(y log x) with log x as an unevaluated sum of two f32, so that a large y log x keeps its low bits; the
// special values are C's (Annex F).
template <class Real>
Real pow(Real x, Real y) {
    const Real size = abs(x);
    const Split<Real> s = split(size);
    const Real f = s.m - Real(1.0), square = f * f;
    const Real high = fma(Real(-0.5), square, f);            // f - f^2/2 …
    const Real rounded = fma(Real(-0.5), square, f - high);  // … what that rounded away (exact)
    const Real square_low = fma(f, f, -square);
    const Real low = fma(square * f, log_tail(f), fma(Real(-0.5), square_low, rounded));
    const Real base = s.e * Real(kLn2High);                       // exact
    const Real sum = base + high, sum_low = high - (sum - base);  // Fast2Sum: base is 0 or the larger
    const Real rest = sum_low + fma(s.e, Real(kLn2Low), low);
    const Real log_high = sum + rest, log_low = rest - (log_high - sum);
    const Real product = y * log_high;
    const Real product_low = fma(y, log_low, fma(y, log_high, -product));
    const Real magnitude = exp_sum(product, product_low, true);

    const Real zero = 0.0, one = 1.0, infinity = kInfinity;
    const auto whole = round(y) == y;
    const auto odd = whole && floor(y * Real(0.5)) != y * Real(0.5);
    const auto negative = x < zero || (x == zero && one / x < zero);
    // 0 and infinity: one of them, by the sign of y.
    const Real at_zero = select(y > zero, zero, infinity), at_infinity = select(y > zero, infinity, zero);
    Real r = select(size == zero, at_zero, select(size == infinity, at_infinity, magnitude));
    r = select(x < zero && size < infinity && !whole, Real(kNan), r);
    r = select(negative && odd, -r, r);
    r = select(x == x && y == y, r, x + y);
    // An infinite exponent of 1 or -1 is 1.
    return select(y == zero || x == one || (size == one && abs(y) == infinity), one, r);
}

}  // namespace tenon::scalar::polynomials
