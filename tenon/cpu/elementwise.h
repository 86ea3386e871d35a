// Elementwise work over broadcast, strided operands of any dtypes: cut into tiles of at most 1024 elements, each
// computed by a kernel over contiguous elements of one compute type.
//
// The one idea: a kernel sees only contiguous tiles. An operand that already lies so is read in place; a scalar fills
// its tile once; everything else is gathered, and converted, into a tile by one routine.
#pragma once

#include <cstdint>
#include <span>

#include "tenon/core/tensor.h"
#include "tenon/cpu/sets/packed_kernel.h"
#include "tenon/scalar/evaluate.h"

namespace tenon::cpu {

// What the kernels compute in: 16-bit floats in f32, integers and bool in i64.
enum class Compute { f32, f64, i64 };
Compute compute_type(DType dtype);

inline constexpr int max_operands = 8;

// out[i] = kernel(inputs[0][i], …) with the inputs broadcast to the shape of `out`, which is contiguous and overlaps
// none of them. `attributes` go to the kernel rounded once to the compute type. writes_mask: the kernel writes bytes.
void elementwise(TileKernel kernel, Compute compute, std::span<const Tensor> inputs, std::span<const double> attributes,
                 bool writes_mask, const Tensor& out);

// The same by plain loops over elements and the expression's evaluator.
void elementwise_reference(const scalar::Evaluator& evaluator, Compute compute, std::span<const Tensor> inputs,
                           std::span<const double> attributes, const Tensor& out);

// x in the dtype of `out`.
void cast_elements(const Tensor& x, const Tensor& out);

}  // namespace tenon::cpu
