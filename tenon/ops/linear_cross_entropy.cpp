// The last layer and the loss in one: logits exist for at most 512 rows at a time.
#include "tenon/ops/linear_cross_entropy.h"

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

[[noreturn]] void refuse(const Call& call, const std::string& message) {
    throw Error(Code::usage, call.op.name(), message);
}

void rule(const Call& call, Results& results) {
    const Tensor &x = call.input(0), &weight = call.input(1), &target = call.input(2);
    if (x.rank() != 2 || weight.rank() != 2 || x.size(1) != weight.size(1)) {
        refuse(call, "x is [rows, features] and weight [vocabulary, features]; they are " + describe(x) + " and " +
                         describe(weight));
    }
    if (!is_floating(x.dtype()) || weight.dtype() != x.dtype()) {
        refuse(call, "x and weight share one floating dtype; they are " + describe(x) + " and " + describe(weight) +
                         "; cast them first");
    }
    if (target.dtype() != DType::i64 || target.shape() != Shape{x.size(0)}) {
        refuse(call, "target is " + describe(target) + "; expected i64[" + std::to_string(x.size(0)) + "]");
    }
    if (!(call.real(0) >= 0)) refuse(call, "divisor is " + std::to_string(call.real(0)) + "; it is positive, or 0");
    const bool with_gradients = call.boolean(1);
    results.add({}, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
    results.add(with_gradients ? x.shape() : Shape{0}, x.dtype());
    results.add(with_gradients ? weight.shape() : Shape{0}, x.dtype());
}

Cost cost(const Call& call, const Results& results) {
    const Tensor &x = call.input(0), &weight = call.input(1);
    const bool with_gradients = call.boolean(1);
    const double products = with_gradients ? 6 : 2;
    double bytes = static_cast<double>((x.numel() + weight.numel()) * size_of(x.dtype()) + x.size(0) * 8);
    for (int i = 0; i < results.count; ++i) {
        const auto& result = results.results[static_cast<size_t>(i)];
        bytes += static_cast<double>(numel(result.shape) * size_of(result.dtype));
    }
    return {products * static_cast<double>(x.size(0)) * static_cast<double>(weight.numel()), bytes,
            linear_cross_entropy_workspace(x, weight, with_gradients)};
}

// Targets of the samples: small ones, of which -100 would be ignored.
SampleInput targets(int64_t rows, int64_t vocabulary) {
    return integers({rows}, 0, vocabulary);
}

}  // namespace

void register_linear_cross_entropy(Table& table) {
    table.op("linear_cross_entropy(x, weight, target, ignore_index: int = -100, divisor: real = 0)")
        .doc(
            "Sum over rows of -log softmax(x weight^T)[target], over divisor (0: over the number of rows that count). "
            "x [N, C]   weight [V, C]   target i64 [N], of which ignore_index does not count. 0-d, f32 for 16-bit "
            "inputs. Its gradients are made along with it, so that the logits [N, V] never exist at once.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const bool with_gradients =
                grad_enabled() && (call.input(0).requires_grad() || call.input(1).requires_grad());
            return {std::get<0>(linear_cross_entropy_forward(call.input(0), call.input(1), call.input(2),
                                                             call.integer(0), call.real(0), with_gradients))};
        })
        .sample({normal({5, 3}), normal({7, 3}), targets(5, 7)})
        .sample({normal({6, 4}), normal({3, 4}), targets(6, 3)}, {{"ignore_index", 1}, {"divisor", 8.0}})
        .error({normal({5, 3}), normal({7, 4}), targets(5, 7)}, {}, "[vocabulary, features]")
        .like("torch.nn.functional.cross_entropy");

    table
        .op("linear_cross_entropy_forward(x, weight, target, ignore_index: int = -100, divisor: real = 0, "
            "with_gradients: bool = true) -> (loss, dx, dw)")
        .doc("linear_cross_entropy and its gradients; without them dx and dw are empty.")
        .rule(rule)
        .derivative({"dx", "dw"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        if (!b.boolean(1)) {
                            throw Error(Code::usage, b.op.name(), "was called without gradients; they are gone");
                        }
                        // A gradient of the gradient would be silently missing.
                        if (grad_enabled() || b.has_grad(1) || b.has_grad(2)) {
                            throw Error(Code::usage, b.op.name(), "second derivatives come later");
                        }
                        if (b.needs(0)) grads[0] = mul(b.output(1), b.grad());
                        if (b.needs(1)) grads[1] = mul(b.output(2), b.grad());
                    })
        .skip_gradient_check("dx and dw are results of their own; linear_cross_entropy is checked")
        .cost(cost)
        .sample({normal({5, 3}), normal({7, 3}), targets(5, 7)})
        .sample({normal({6, 4}), normal({3, 4}), targets(6, 3)}, {{"ignore_index", 1}, {"divisor", 8.0}})
        .sample({normal({4, 2}), normal({20, 2}), targets(4, 20)}, {{"with_gradients", false}})
        .sample({normal({0, 2}), normal({3, 2}), targets(0, 3)})
        .error({normal({5, 3}), normal({7, 4}), targets(5, 7)}, {}, "[vocabulary, features]")
        .error({normal({5, 3}), normal({7, 3}), targets(4, 7)}, {}, "expected i64[5]")
        .error({normal({5, 3}), normal({7, 3}), targets(5, 7)}, {{"divisor", -1.0}}, "divisor is")
        .error({normal({5, 3}), normal({7, 3}), integers({5}, 7, 9)}, {}, "outside the vocabulary")
        .like("torch.nn.functional.cross_entropy");
}

}  // namespace tenon::ops
