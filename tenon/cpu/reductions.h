// Reductions over any dims of any layout (docs/numerics.md, Sums): the result depends on the logical index along the
// reduced dims alone, never on strides, threads or the instruction set.
#pragma once

#include <cstdint>

#include "tenon/core/tensor.h"
#include "tenon/cpu/sets/reductions.h"

namespace tenon::cpu {

// The elements of a tensor as [outputs, n]: kept dims, then reduced ones, both in order, neighbours in memory merged.
struct ReductionPlan {
    Shape kept, reduced;
    Dims kept_strides, reduced_strides;  // in elements
    int64_t outputs = 1, n = 1;
};
// `dims` names the reduced ones (negative ones count from the end); empty for all of them.
ReductionPlan reduction_plan(const Tensor& x, const Dims& dims);

// out[i] = the reduction of x's i-th row in the plan, divided by `divisor` (a float; 1 divides nothing) and rounded to
// out's dtype once. x is f32, bf16 or f16; out is contiguous.
void reduce(Reduction kind, const Tensor& x, const ReductionPlan& plan, float divisor, Tensor& out);

// out[i] (i64) = the first index of the greatest element of the plan's i-th row; NaN counts as greatest. n >= 1.
void first_greatest(const Tensor& x, const ReductionPlan& plan, Tensor& out);

// The same results from plain loops, for every dtype. Integers add exactly (modulo 2^64).
void reduce_reference(Reduction kind, const Tensor& x, const ReductionPlan& plan, double divisor, Tensor& out);
void first_greatest_reference(const Tensor& x, const ReductionPlan& plan, Tensor& out);

// out's elements first … first + count - 1 (f32, bf16 or f16, contiguous) = values / divisor, rounded once.
void store_floats(const float* values, int64_t count, Tensor& out, int64_t first, float divisor = 1);

// f32, bf16 and f16 have vector kernels.
bool has_vector_kernels(DType dtype);
// Of such a dtype.
Element element_of(DType dtype);

}  // namespace tenon::cpu
