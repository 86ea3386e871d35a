// Elementary functions for host scalars: schedules, RoPE tables, sampling. No libm, so the same bits on every machine.
//
// f32 has the bits of the kernels. f64 is built from + - * / alone; greatest errors measured against libm in
// tests/scalar/host_test.cpp.
#pragma once

#include <cstdint>

namespace tenon::scalar::host {

float exp(float x) noexcept;
float log(float x) noexcept;
float sin(float x) noexcept;  // range reduction is exact at any size
float cos(float x) noexcept;
float tanh(float x) noexcept;
float erf(float x) noexcept;
float sigmoid(float x) noexcept;
float pow(float x, float y) noexcept;

// Within 2 ulp; special values as C's.
double exp(double x) noexcept;
double log(double x) noexcept;
double sin(double x) noexcept;
double cos(double x) noexcept;
// e^(y log x) for x >= 0, by f64 alone: relative error at most (|y log x| + 2) 2^-52. NaN for a negative x: use power.
double pow(double x, double y) noexcept;
// x^n by binary powering.
double power(double x, int64_t n) noexcept;

}  // namespace tenon::scalar::host
