// One number at a time, in f32 (the kernels' bits) and in f64: what the plain-loop references of attention and
// linear_cross_entropy are written over.
#pragma once

#include <cmath>

#include "tenon/scalar/host.h"
#include "tenon/scalar/single.h"

namespace tenon::cpu::numbers {

inline float fma(float a, float b, float c) {
    return scalar::exact_fma(a, b, c);
}
inline double fma(double a, double b, double c) {
    return std::fma(a, b, c);
}
inline float exp(float x) {
    return scalar::host::exp(x);
}
inline double exp(double x) {
    return scalar::host::exp(x);
}
inline float log(float x) {
    return scalar::host::log(x);
}
inline double log(double x) {
    return scalar::host::log(x);
}

// NaN if either is.
template <class T>
T maximum(T a, T b) {
    return a >= b || a != a ? a : b;
}

// sum over i ascending of a[i * a_stride] * b[i * b_stride], by fma from `start`.
template <class T>
T chain(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t n, T start = 0) {
    for (int64_t i = 0; i < n; ++i) start = fma(a[i * a_stride], b[i * b_stride], start);
    return start;
}

}  // namespace tenon::cpu::numbers
