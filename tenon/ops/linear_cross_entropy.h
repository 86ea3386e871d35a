// The memory that linear_cross_entropy's kernels take while they run: for the entry's cost and for the CPU's kernel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/core/tensor.h"

namespace tenon::ops {

// Rows of logits that exist at a time.
constexpr int64_t kLogitRows = 512;
// Floats from one row of logits to the next.
constexpr int64_t logit_row(int64_t vocabulary) {
    return (vocabulary + 15) / 16 * 16;
}

// The gradient of a 16-bit weight is a chain over all rows: where they come in several chunks it waits in f32.
inline int64_t waiting_gradient_bytes(const Tensor& x, const Tensor& weight, bool with_gradients) {
    const bool waits = with_gradients && size_of(weight.dtype()) == 2 && x.size(0) > kLogitRows;
    return waits ? (weight.numel() * 4 + 63) / 64 * 64 : 0;
}

inline int64_t linear_cross_entropy_workspace(const Tensor& x, const Tensor& weight, bool with_gradients) {
    if (x.dtype() == DType::f64) return 0;
    return std::min(kLogitRows, x.size(0)) * logit_row(weight.size(0)) * 4 +
           waiting_gradient_bytes(x, weight, with_gradients);
}

}  // namespace tenon::ops
