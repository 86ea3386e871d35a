// What an optimizer step does to each parameter, and the sums that clipping needs.
#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

void adamw_rule(const Call& call, Results&) {
    const Tensor& p = call.input(0);
    for (const Tensor& each : call.inputs) {
        if (each.shape() == p.shape() && each.dtype() == p.dtype() && is_floating(p.dtype())) continue;
        throw Error(Code::usage, "adamw",
                    "p, g, m and v have one shape and one floating dtype; p is " + describe(p) + " and another is " +
                        describe(each));
    }
    if (call.integer(0) < 1) {
        throw Error(Code::usage, "adamw", "step is " + std::to_string(call.integer(0)) + "; the first step is 1");
    }
}

// What a kernel takes from the allocator to have its inputs in order.
int64_t ordered_bytes(const Call& call) {
    int64_t bytes = 0;
    for (const Tensor& input : call.inputs) {
        if (!input.is_contiguous()) bytes += input.numel() * size_of(input.dtype());
    }
    return bytes;
}

Cost reading_cost(const Call& call, double flops_each) {
    const auto elements = static_cast<double>(call.input(0).numel());
    return {flops_each * elements, elements * static_cast<double>(size_of(call.input(0).dtype())), ordered_bytes(call)};
}

}  // namespace

void register_optimizer(Table& table) {
    table
        .op("adamw(p!, g, m!, v!, lr: real, beta1: real, beta2: real, eps: real, weight_decay: real, step: int, "
            "grad_scale: real = 1) -> none")
        .doc(
            "One step of AdamW on a parameter and its two moments; g counts times grad_scale; step counts from 1. "
            "Loshchilov and Hutter 2019, arXiv:1711.05101. p(1 - lr wd) - (lr / c1) m / (sqrt(v) / sqrt(c2) + eps).")
        .rule(adamw_rule)
        .no_derivative("it writes its inputs in place")
        .cost([](const Call& call, const Results&) {
            // 15 operations on an element; p, m, v are read and written, g is read.
            Cost cost = reading_cost(call, 15);
            cost.bytes *= 7;
            return cost;
        })
        .sample({normal({3, 5}), normal({3, 5}), normal({3, 5}), positive({3, 5})},
                {{"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.1}, {"step", 3}})
        .sample({normal({}), normal({}), normal({}), positive({})}, {{"lr", 1e-2},
                                                                     {"beta1", 0.9},
                                                                     {"beta2", 0.999},
                                                                     {"eps", 1e-8},
                                                                     {"weight_decay", 0.0},
                                                                     {"step", 1},
                                                                     {"grad_scale", 0.25}})
        .error({normal({3}), normal({4}), normal({3}), positive({3})},
               {{"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.1}, {"step", 1}},
               "have one shape")
        .error({normal({3}), normal({3}), normal({3}), positive({3})},
               {{"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.1}, {"step", 0}},
               "the first step is 1")
        .like("torch.optim.AdamW");

    table.op("sum_of_squares(x)")
        .doc("The sum of x * x over all elements, a scalar: f64 of f64, else f32 (16-bit numbers are squared in f32).")
        .rule([](const Call& call, Results& results) {
            if (!is_floating(call.input(0).dtype())) {
                throw Error(Code::usage, "sum_of_squares", "takes floating numbers, not " + describe(call.input(0)));
            }
            results.add({}, call.input(0).dtype() == DType::f64 ? DType::f64 : DType::f32);
        })
        .derivative({"x"}, [](const Backward& b,
                              std::span<Tensor> grads) { grads[0] = mul(mul(b.input(0), number(2.0)), b.grad()); })
        .cost([](const Call& call, const Results&) { return reading_cost(call, 2); })
        .samples({Shape{3, 5}, Shape{}, Shape{0, 2}, Shape{1037}})
        .error({integers({3}, 0, 5)}, {}, "takes floating numbers");

    table.op("all_finite(x)")
        .doc("Whether no element is infinite or NaN: a bool scalar.")
        .rule([](const Call& call, Results& results) {
            if (!is_floating(call.input(0).dtype())) {
                throw Error(Code::usage, "all_finite", "takes floating numbers, not " + describe(call.input(0)));
            }
            results.add({}, DType::boolean);
        })
        .no_derivative("its result is a bool")
        .cost([](const Call& call, const Results&) { return reading_cost(call, 1); })
        .samples({Shape{3, 5}, Shape{}, Shape{0, 2}})
        .error({integers({3}, 0, 5)}, {}, "takes floating numbers");
}

}  // namespace tenon::ops
