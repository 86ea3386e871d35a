// The optimizer's passes over a parameter: one read and one write of each number, on all threads.
#pragma once

#include <cstdint>

#include "tenon/core/dtype.h"

namespace tenon::cpu {

struct AdamW {
    double lr = 0;
    double beta1 = 0;
    double beta2 = 0;
    double eps = 0;
    double weight_decay = 0;
    double grad_scale = 1;
    int64_t step = 1;
};

// p, m, v in place. f32 by vectors; the reference's plain loops give the same bits and take every floating dtype
// (16-bit ones compute in f32).
void adamw(const AdamW& settings, float* p, const float* g, float* m, float* v, int64_t count);
void adamw_reference(const AdamW& settings, DType dtype, void* p, const void* g, void* m, void* v, int64_t count);

// Sum of x·x (docs/numerics.md, Sums).
float sum_of_squares(const float* x, int64_t count);
// The same for any floating dtype; f64 sums in f64, 16-bit ones in f32. `to` is one f64 or one f32.
void sum_of_squares_reference(const void* x, DType dtype, int64_t count, void* to);

// Whether no element of a floating dtype is infinite or NaN.
bool all_finite(const void* x, DType dtype, int64_t count);

}  // namespace tenon::cpu
