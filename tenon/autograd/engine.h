// The backward walk: iterative, in the calling thread, highest sequence number first.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tenon/autograd/autograd.h"

namespace tenon::autograd {

// Where gradients are wanted: every leaf (backward), or these tensors only (grad).
struct Walk {
    std::span<const Tensor> roots;
    std::span<const Tensor> root_grads;
    std::span<const Tensor> targets;  // empty: leaves
    BackwardOptions options;
};
// Gradients of the targets in their order; empty when leaves were asked for, whose gradients then are accumulated.
std::vector<Tensor> walk(const Walk& walk);

// `grad` summed over the dims along which `shape` was broadcast, and cast to dtype.
Tensor reduce_to(const Tensor& grad, const Shape& shape, DType dtype);

}  // namespace tenon::autograd
