// Losses over rows of logits.
#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/operators.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

Shape leading_shape(const Tensor& x) {
    Shape shape = x.shape();
    shape.resize(shape.size() - 1);
    return shape;
}

DType statistics_dtype(DType dtype) {
    return dtype == DType::f64 ? DType::f64 : DType::f32;
}

// logits [..., classes] and targets i64 [...].
void check_targets(const Call& call, const Tensor& logits, const Tensor& targets) {
    if (logits.rank() == 0 || !is_floating(logits.dtype()) || logits.size(-1) == 0) {
        throw Error(Code::usage, call.op.name(), "needs floating rows of logits, got " + describe(logits));
    }
    if (targets.dtype() != DType::i64 || targets.shape() != leading_shape(logits)) {
        throw Error(Code::usage, call.op.name(),
                    "targets are " + describe(targets) + "; logits " + describe(logits) + " need i64" +
                        to_string(leading_shape(logits)));
    }
}

// 1 / divisor, f32 or f64; the number of targets that are not ignored where the divisor is 0.
Tensor scale_of(const Backward& b, const Tensor& targets, DType dtype) {
    if (b.real(0) != 0) return full({}, 1 / b.real(0), dtype, targets.device());
    return reciprocal(cast(sum(ne(targets, number(b.integer(0)))), dtype));
}

void register_cross_entropy(Table& table) {
    table.op("cross_entropy(logits, targets, ignore_index: int = -100, divisor: real = 0)")
        .doc(
            "The mean over rows of log(sum(exp(z))) - z[target]: the sum of row losses divided by `divisor`, which is "
            "the "
            "number of targets other than ignore_index where it is 0.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            return {std::get<0>(cross_entropy_forward(call.input(0), call.input(1), call.integer(0), call.real(0)))};
        })
        .sample({normal({4, 7}), integers({4}, 0, 7)})
        .sample({normal({5, 3}), integers({5}, 0, 3)}, {{"ignore_index", 1}})
        .sample({normal({2, 3, 20}), integers({2, 3}, 0, 20)}, {{"divisor", 4.0}})
        .sample({normal({1, 1}), integers({1}, 0, 1)})
        .error({normal({4, 7}), integers({3}, 0, 7)}, {}, "targets are i64[3]")
        .error({normal({4, 7}), normal({4})}, {}, "need i64[4]")
        .error({normal({4, 7}), integers({4}, 7, 8)}, {}, "row 0 has target 7")
        .like("torch.nn.functional.cross_entropy");

    table.op("cross_entropy_forward(logits, targets, ignore_index: int, divisor: real) -> (loss, lse)")
        .doc(
            "cross_entropy, and the log(sum(exp(z))) of each row (+infinity in ignored rows, so that exp(z - lse) is "
            "0).")
        .rule([](const Call& call, Results& results) {
            const Tensor& logits = call.input(0);
            check_targets(call, logits, call.input(1));
            results.add({}, logits.dtype());
            results.add(leading_shape(logits), statistics_dtype(logits.dtype()));
        })
        .derivative({"logits", "targets", "lse"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        if (!b.needs(0)) return;
                        const Tensor &z = b.input(0), &lse = b.output(1);
                        if (b.has_grad(0)) {
                            grads[0] = cross_entropy_backward(b.grad(0), z, b.input(1), lse, b.integer(0), b.real(0));
                        }
                        if (b.has_grad(1)) {
                            const Tensor wide = z.dtype() == lse.dtype() ? z : cast(z, lse.dtype());
                            const Tensor through_lse = unsqueeze(b.grad(1), -1) * exp(wide - unsqueeze(lse, -1));
                            grads[0] = grads[0].defined() ? grads[0] + through_lse : through_lse;
                        }
                    })
        .cost([](const Call& call, const Results&) {
            const auto elements = static_cast<double>(call.input(0).numel());
            return Cost{24 * elements, elements * static_cast<double>(size_of(call.input(0).dtype())), 0};
        })
        .keeps_f32()
        .sample({normal({4, 7}), integers({4}, 0, 7)}, {{"ignore_index", -100}, {"divisor", 0.0}})
        .sample({normal({3, 20}), integers({3}, 0, 20)}, {{"ignore_index", -100}, {"divisor", 2.0}})
        .error({normal({}), integers({}, 0, 7)}, {{"ignore_index", -100}, {"divisor", 0.0}}, "rows of logits");

    table.op("cross_entropy_backward(loss_grad, logits, targets, lse, ignore_index: int, divisor: real)")
        .doc(
            "The gradient of cross_entropy: ((exp(z - lse) - [j = target])·(1/divisor))·loss_grad; +0 in ignored rows.")
        .rule([](const Call& call, Results& results) {
            const Tensor &g = call.input(0), &logits = call.input(1), &lse = call.input(3);
            check_targets(call, logits, call.input(2));
            const bool has_dtype = lse.dtype() == statistics_dtype(logits.dtype()) || lse.dtype() == logits.dtype();
            if (g.rank() != 0 || lse.shape() != leading_shape(logits) || !has_dtype) {
                throw Error(Code::usage, call.op.name(),
                            "loss_grad " + describe(g) + " or lse " + describe(lse) + " does not belong to logits " +
                                describe(logits));
            }
            results.add(logits.shape(), logits.dtype());
        })
        // Of loss_grad: the same gradient for a loss_grad of 1. Of z and lse: that of exp(z - lse).
        .derivative({"loss_grad", "logits", "targets", "lse"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor &g = b.input(0), &z = b.input(1), &targets = b.input(2), &lse = b.input(3),
                                     &u = b.grad();
                        if (b.needs(0)) {
                            const Tensor one = ones({}, g.dtype(), g.device());
                            grads[0] = sum(u * cross_entropy_backward(one, z, targets, lse, b.integer(0), b.real(0)));
                        }
                        if (!b.needs(1) && !b.needs(3)) return;
                        const Tensor wide = z.dtype() == lse.dtype() ? z : cast(z, lse.dtype());
                        const Tensor slope = u * exp(wide - unsqueeze(lse, -1)) * scale_of(b, targets, lse.dtype()) * g;
                        if (b.needs(1)) grads[1] = slope;
                        if (b.needs(3)) grads[3] = neg(sum(slope, {-1}));
                    })
        .cost([](const Call& call, const Results&) {
            const auto elements = static_cast<double>(call.input(1).numel());
            return Cost{24 * elements, 2 * elements * static_cast<double>(size_of(call.input(1).dtype())), 0};
        })
        .sample({normal({}), normal({4, 7}), integers({4}, 0, 7), positive({4})},
                {{"ignore_index", -100}, {"divisor", 0.0}})
        .sample({normal({}), normal({3, 20}), integers({3}, 0, 20), positive({3})},
                {{"ignore_index", 2}, {"divisor", 2.0}})
        .error({normal({2}), normal({3, 20}), integers({3}, 0, 20), positive({3})},
               {{"ignore_index", 2}, {"divisor", 2.0}}, "loss_grad f32[2]");
}

}  // namespace

void register_losses(Table& table) {
    register_cross_entropy(table);
}

}  // namespace tenon::ops
