#include "tenon/autograd/autograd.h"

#include <utility>

#include "tenon/autograd/engine.h"
#include "tenon/autograd/node.h"
#include "tenon/autograd/record.h"
#include "tenon/base/error.h"
#include "tenon/ops/dispatch.h"

namespace tenon::autograd {

void register_autograd() {
    ops::slots().record = record;
}

void backward(const Tensor& root, const Tensor& root_grad, BackwardOptions options) {
    walk({std::span(&root, 1), std::span(&root_grad, 1), {}, options});
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> output_grads, BackwardOptions options) {
    if (inputs.empty()) return {};
    for (const Tensor& input : inputs) {
        if (!input.requires_grad()) throw Error(Code::usage, "grad", describe(input) + " does not require a gradient");
    }
    return walk({outputs, output_grads, inputs, options});
}

Tensor grad_of(const Tensor& leaf) {
    const Meta* meta = find_meta(leaf);
    return meta == nullptr ? Tensor() : meta->grad;
}

void set_grad(const Tensor& leaf, const Tensor& grad) {
    if (grad.defined() && grad.shape() != leaf.shape()) {
        throw Error(Code::usage, "set_grad", "a gradient of " + describe(grad) + " does not fit " + describe(leaf));
    }
    meta_of(leaf).grad = grad;
}

void add_hook(const Tensor& tensor, Hook hook) {
    if (!tensor.requires_grad()) {
        throw Error(Code::usage, "add_hook", describe(tensor) + " does not require a gradient");
    }
    Meta& meta = meta_of(tensor);
    if (!meta.node) {
        meta.hooks.push_back(std::move(hook));
        return;
    }
    meta.node->hooks.resize(static_cast<size_t>(meta.node->outputs));
    meta.node->hooks[static_cast<size_t>(meta.output)].push_back(std::move(hook));
}

void add_accumulate_hook(const Tensor& leaf, AccumulateHook hook) {
    if (!is_leaf(leaf)) throw Error(Code::usage, "add_accumulate_hook", describe(leaf) + " is not a leaf");
    meta_of(leaf).accumulate_hooks.push_back(std::move(hook));
}

bool is_leaf(const Tensor& tensor) {
    const Meta* meta = find_meta(tensor);
    return tensor.requires_grad() && (meta == nullptr || !meta->node);
}

}  // namespace tenon::autograd
