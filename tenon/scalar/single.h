// Single: an f32 number with exactly the primitives of the scalar IR, in portable C++ and any build flags.
// The truth that every kernel's bits are compared with, and the arithmetic behind host.h.
#pragma once

#ifdef __FAST_MATH__
#error "-ffast-math (or -Ofast) reorders sums: no result would keep its bits. Take it out of CXXFLAGS."
#endif

#include <bit>
#include <cstdint>

#include "tenon/scalar/expr.h"
#include "tenon/scalar/range_reduction.h"

namespace tenon::scalar {

struct Single {
    float value = 0;
    Single() = default;
    Single(double constant) : value(static_cast<float>(constant)) {}  // implicit, as Expr's
    static Single of(float value) {
        Single s;
        s.value = value;
        return s;
    }
};

// a * b + c rounded once. The product of two f32 is exact in f64; TwoSum (Knuth) gives the exact error of the sum; an
// inexact sum is moved to its odd neighbour, so that rounding to f32 is the only rounding (Boldo and Melquiond 2008).
inline float exact_fma(float a, float b, float c) {
    const double product = static_cast<double>(a) * b, sum = product + c;
    const double c_part = sum - product;
    const double error = (product - (sum - c_part)) + (c - c_part);
    uint64_t bits = std::bit_cast<uint64_t>(sum);
    // An infinite or NaN sum has a NaN error: both comparisons are false.
    if ((error < 0 || error > 0) && (bits & 1) == 0) bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
    return static_cast<float>(std::bit_cast<double>(bits));
}

inline float power_of_two(int n) {
    return std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23);
}
// Square root by the instruction every compiler emits under -fno-math-errno.
inline float square_root(float x) {
    return __builtin_sqrtf(x);
}
inline double square_root(double x) {
    return __builtin_sqrt(x);
}

// Nearest integer, ties to even; adding and taking away 2^23 leaves an integer, from 2^23 on every float is one.
inline float round_to_even(float x) {
    const float magnitude = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffu);
    if (!(magnitude < 8388608.0f)) return x;
    const float whole = (magnitude + 8388608.0f) - 8388608.0f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(whole) | (std::bit_cast<uint32_t>(x) & 0x80000000u));
}
inline double round_to_even(double x) {
    constexpr double big = 4503599627370496.0;  // 2^52
    const double magnitude = x < 0 ? -x : x;
    if (!(magnitude < big)) return x;
    const double whole = (magnitude + big) - big;
    return std::bit_cast<double>(std::bit_cast<uint64_t>(whole) | (std::bit_cast<uint64_t>(x) & (uint64_t{1} << 63)));
}
template <class Number>
Number floor_of(Number x) {
    const Number whole = round_to_even(x);
    return whole > x ? whole - 1 : whole;
}

inline Single operator+(Single a, Single b) {
    return Single::of(a.value + b.value);
}
inline Single operator-(Single a, Single b) {
    return Single::of(a.value - b.value);
}
inline Single operator*(Single a, Single b) {
    return Single::of(a.value * b.value);
}
inline Single operator/(Single a, Single b) {
    return Single::of(a.value / b.value);
}
inline Single operator-(Single a) {
    return Single::of(-a.value);
}
inline bool operator<(Single a, Single b) {
    return a.value < b.value;
}
inline bool operator<=(Single a, Single b) {
    return a.value <= b.value;
}
inline bool operator>(Single a, Single b) {
    return a.value > b.value;
}
inline bool operator>=(Single a, Single b) {
    return a.value >= b.value;
}
inline bool operator==(Single a, Single b) {
    return a.value == b.value;
}
inline bool operator!=(Single a, Single b) {
    return !(a.value == b.value);
}
inline Single fma(Single a, Single b, Single c) {
    return Single::of(exact_fma(a.value, b.value, c.value));
}
inline Single sqrt(Single a) {
    return Single::of(square_root(a.value));
}
inline Single abs(Single a) {
    return Single::of(std::bit_cast<float>(std::bit_cast<uint32_t>(a.value) & 0x7fffffffu));
}
inline Single min(Single a, Single b) {
    return a.value < b.value ? a : b;
}
inline Single max(Single a, Single b) {
    return b.value < a.value ? a : b;
}
inline Single floor(Single a) {
    return Single::of(floor_of(a.value));
}
inline Single round(Single a) {
    return Single::of(round_to_even(a.value));
}
inline Single select(bool mask, Single a, Single b) {
    return mask ? a : b;
}
inline Single ldexp(Single a, Single n) {
    float clamped = n.value > -252.0f ? n.value : -252.0f;
    clamped = clamped < 252.0f ? clamped : 252.0f;
    const int whole = static_cast<int>(round_to_even(clamped)), first = whole >> 1;
    return Single::of(a.value * power_of_two(first) * power_of_two(whole - first));
}
inline Single exponent(Single a) {
    return Single::of(static_cast<float>(static_cast<int>(std::bit_cast<uint32_t>(a.value) >> 23) - 127));
}
inline Single call_where(bool mask, Function function, Single a, Single otherwise) {
    if (!mask) return otherwise;
    return Single::of(function == Function::quarter_turns ? quarter_turns(a.value) : quarter_turn_remainder(a.value));
}

}  // namespace tenon::scalar
