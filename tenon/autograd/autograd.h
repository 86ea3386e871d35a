// What users of autograd call.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tenon/core/tensor.h"

namespace tenon::autograd {

// Fills the dispatcher's record slot. Called once at start-up; idempotent.
void register_autograd();

struct BackwardOptions {
    // Keep saved values, so that the graph can be walked again.
    bool retain_graph = false;
    // Record the walk itself: gradients of gradients.
    bool create_graph = false;
};

// Adds d(root)/d(leaf) to the gradient of every leaf that root depends on. `root_grad` is the gradient of root itself:
// ones by default, which asks for a root of one element.
void backward(const Tensor& root, const Tensor& root_grad = {}, BackwardOptions options = {});

// The gradients of `outputs` (each weighted by its `output_grads`, ones by default) with respect to `inputs`, which may
// be leaves or intermediate values. Leaves' own gradients are not touched. An input that outputs do not depend on gives
// an undefined tensor.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> output_grads = {}, BackwardOptions options = {});

// The gradient accumulated in a leaf; undefined where there is none.
Tensor grad_of(const Tensor& leaf);
void set_grad(const Tensor& leaf, const Tensor& grad);
inline void clear_grad(const Tensor& leaf) {
    set_grad(leaf, {});
}

// Called with the gradient of a value when it is whole; may return another to put in its place (undefined: unchanged).
using Hook = std::function<Tensor(const Tensor& grad)>;
void add_hook(const Tensor& tensor, Hook hook);
// Called with a leaf after a backward walk has accumulated into it.
using AccumulateHook = std::function<void(const Tensor& leaf)>;
void add_accumulate_hook(const Tensor& leaf, AccumulateHook hook);

// True for a tensor that requires a gradient and was not computed from others.
bool is_leaf(const Tensor& tensor);

}  // namespace tenon::autograd
