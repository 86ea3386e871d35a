// What optimizer.cpp hands to the part compiled per instruction set. Plain data only.
#pragma once

#include <stdint.h>

namespace tenon::cpu {

// AdamW's scalars, each made in f64 and rounded once (docs/numerics.md, Formulas).
template <class Real>
struct AdamWScalars {
    Real grad_scale;
    Real decay;             // 1 - lr wd
    Real one_minus_beta1;   // 1 - beta1
    Real beta2;             // beta2
    Real one_minus_beta2;   // 1 - beta2
    Real step_size;         // lr / c1,  c1 = 1 - beta1^step
    Real sqrt_correction2;  // sqrt(c2), c2 = 1 - beta2^step
    Real eps;
};

}  // namespace tenon::cpu

#define TENON_OPTIMIZER_FUNCTIONS                                                                                     \
    void adamw_elements(const AdamWScalars<float>& scalars, float* p, const float* g, float* m, float* v, int64_t n); \
    /* The sum of x·x in the order of docs/numerics.md, Sums. */                                                     \
    float sum_of_squares(const float* x, int64_t n);
