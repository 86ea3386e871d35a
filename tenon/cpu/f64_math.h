// The functions of f64 kernels. f64_math.cpp is the one file of the product that may ask libm for a transcendental:
// f64 tensors keep tier D2, their bits may change with the C library.
#pragma once

#include "tenon/scalar/evaluate.h"

namespace tenon::cpu {

double f64_exp(double x);
double f64_log(double x);
double f64_sin(double x);
double f64_cos(double x);
double f64_tanh(double x);
double f64_erf(double x);
double f64_sigmoid(double x);
double f64_pow(double x, double y);
double f64_fma(double a, double b, double c);
double f64_floor(double x);
double f64_round(double x);  // ties to even

// The same, for the evaluator.
const scalar::Functions64& f64_functions();

}  // namespace tenon::cpu
