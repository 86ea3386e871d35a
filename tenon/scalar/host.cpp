#include "tenon/scalar/host.h"

#include <bit>
#include <limits>

#include "tenon/scalar/polynomials.h"
#include "tenon/scalar/single.h"

namespace tenon::scalar::host {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// ln 2 with 32 trailing zero bits, and the rest: n * kLn2High is exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

double power_of_two_64(int n) {
    return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

// x 2^n in two exact steps and one rounding, |n| <= 2000.
double scale(double x, int n) {
    return x * power_of_two_64(n / 2) * power_of_two_64(n - n / 2);
}

template <int count>
double horner(double x, const double (&c)[count]) {
    double p = c[count - 1];
    for (int i = count - 2; i >= 0; --i) p = p * x + c[i];
    return p;
}

// sin and cos of r + low on [-pi/4, pi/4] by their series (next term below 2^-60); low enters to first order.
double sin_series(double r, double low) {
    const double s = r * r;
    const double p = horner(s, {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0,
                                -1.0 / 1307674368000.0, 1.0 / 355687428096000.0});
    return r + (r * s * p + low * (1 - 0.5 * s));
}
double cos_series(double r, double low) {
    const double s = r * r;
    const double p = horner(s, {1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600.0,
                                -1.0 / 87178291200.0, 1.0 / 20922789888000.0});
    const double half = 0.5 * s, head = 1 - half;
    return head + (((1 - head) - half) + (s * s * p - r * low));
}

// sin of x + quarters * pi/2.
double turned_sin(double x, int quarters) {
    Reduced reduced{0, x, 0};
    if (!(x > -0.78 && x < 0.78)) {
        if (!(x - x == 0)) return kNan;
        // Reduction needs |x| >= 1: below it, one subtraction of pi/2 in two parts is exact enough.
        if (x >= 1 || x <= -1) {
            reduced = reduce_quarter_turns(x);
        } else if (x > 0) {
            reduced = {1, x - 0x1.921fb54442d18p0, -0x1.1a62633145c07p-54};
        } else {
            reduced = {3, x + 0x1.921fb54442d18p0, 0x1.1a62633145c07p-54};
        }
    }
    const int turns = (reduced.turns + quarters) & 3;
    const double y =
        (turns & 1) != 0 ? cos_series(reduced.remainder, reduced.low) : sin_series(reduced.remainder, reduced.low);
    return turns >= 2 ? -y : y;
}

}  // namespace

float exp(float x) noexcept {
    return polynomials::exp(Single::of(x)).value;
}
float log(float x) noexcept {
    return polynomials::log(Single::of(x)).value;
}
float sin(float x) noexcept {
    return polynomials::sin(Single::of(x)).value;
}
float cos(float x) noexcept {
    return polynomials::cos(Single::of(x)).value;
}
float tanh(float x) noexcept {
    return polynomials::tanh(Single::of(x)).value;
}
float erf(float x) noexcept {
    return polynomials::erf(Single::of(x)).value;
}
float sigmoid(float x) noexcept {
    return polynomials::sigmoid(Single::of(x)).value;
}
float pow(float x, float y) noexcept {
    return polynomials::pow(Single::of(x), Single::of(y)).value;
}

double exp(double x) noexcept {
    if (!(x < 710)) return x != x ? x : kInfinity;
    if (x < -746) return 0;
    const double n = round_to_even(x * 1.4426950408889634);
    const double r = (x - n * kLn2High) - n * kLn2Low;
    // The series to r^13, summed so that the two leading terms come last.
    const double tail = horner(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                                   1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600.0, 1.0 / 6227020800.0});
    return scale(1 + (r + r * r * tail), static_cast<int>(n));
}

double log(double x) noexcept {
    if (!(x > 0)) return x == 0 ? -kInfinity : kNan;
    if (x == kInfinity) return x;
    int e = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        e = -54;
    }
    uint64_t bits = std::bit_cast<uint64_t>(x);
    // m in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) puts the border at a power of two.
    const auto above = static_cast<int64_t>(bits - 0x3fe6a09e667f3bcdu);
    e += static_cast<int>(above >> 52);
    bits -= static_cast<uint64_t>(above >> 52) << 52;
    const double f = std::bit_cast<double>(bits) - 1;
    // log(1 + f) = 2 atanh(s), s = f / (2 + f), arranged as f - (f^2/2 - s (f^2/2 + R)): fdlibm's e_log.c.
    const double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    const double r = z * horner(z, {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17,
                                    2.0 / 19, 2.0 / 21, 2.0 / 23});
    return e * kLn2High - ((half - (s * (half + r) + e * kLn2Low)) - f);
}

double sin(double x) noexcept {
    return x == 0 ? x : turned_sin(x, 0);
}
double cos(double x) noexcept {
    return turned_sin(x, 1);
}

double pow(double x, double y) noexcept {
    if (y == 0 || x == 1) return 1;
    if (x == 0) return y > 0 ? 0 : (y < 0 ? kInfinity : kNan);
    return exp(y * log(x));
}

double power(double x, int64_t n) noexcept {
    uint64_t left = n < 0 ? uint64_t{0} - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
    double result = 1;
    for (double square = x; left != 0; left >>= 1, square *= square) {
        if ((left & 1) != 0) result *= square;
    }
    return n < 0 ? 1 / result : result;
}

}  // namespace tenon::scalar::host
