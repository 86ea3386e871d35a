// softmax and its kin, along one dim. Formulas and the order of the sums: docs/numerics.md.
#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/operators.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

void along_rule(const Call& call, Results& results) {
    const Tensor& x = call.input(0);
    normalize_dim(call.integer(0), x.rank(), call.op.name());
    if (!is_floating(x.dtype())) {
        throw Error(Code::usage, call.op.name(), "needs a floating dtype, got " + describe(x) + "; cast it first");
    }
    results.add(x.shape(), x.dtype());
}

void backward_rule(const Call& call, Results& results) {
    const Tensor &g = call.input(0), &y = call.input(1);
    if (g.shape() != y.shape() || g.dtype() != y.dtype()) {
        throw Error(Code::usage, call.op.name(), "out_grad is " + describe(g) + ", y is " + describe(y));
    }
    along_rule(call, results);
}

// About 20 operations to an exponential.
template <int reads>
Cost exponential_cost(const Call& call, const Results& results) {
    const auto elements = static_cast<double>(call.input(0).numel());
    const auto outputs = static_cast<double>(numel(results.results[0].shape));
    return {24 * elements, (reads * elements + outputs) * static_cast<double>(size_of(call.input(0).dtype())), 0};
}

Dims dim_of(const Backward& b) {
    return {b.integer(0)};
}

void register_softmaxes(Table& table) {
    table.op("softmax(x, dim: int = -1)")
        .doc("m = max(x), e = exp(x - m), e · (1/sum(e)) along a dim. A row of -infinities gives NaN.")
        .rule(along_rule)
        .derivative({"out"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        grads[0] = softmax_backward(b.grad(), b.output(), b.integer(0));
                    })
        .cost(exponential_cost<1>)
        .keeps_f32()
        .samples({Shape{2, 5}, Shape{}, Shape{3, 1}, Shape{2, 0}})
        .sample({normal({3, 4, 2})}, {{"dim", 1}})
        .sample({normal({4, 17})}, {{"dim", 0}})
        .error({normal({2, 3})}, {{"dim", 2}}, "out of range")
        .error({integers({3}, 0, 5)}, {}, "needs a floating dtype")
        .like("torch.softmax");

    table.op("log_softmax(x, dim: int = -1)")
        .doc("(x - m) - log(sum(exp(x - m))) along a dim, m = max(x).")
        .rule(along_rule)
        .derivative({"out"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        grads[0] = log_softmax_backward(b.grad(), b.output(), b.integer(0));
                    })
        .cost(exponential_cost<1>)
        .keeps_f32()
        .samples({Shape{2, 5}, Shape{}, Shape{3, 1}, Shape{2, 0}})
        .sample({normal({3, 4, 2})}, {{"dim", 1}})
        .sample({normal({4, 17})}, {{"dim", -2}})
        .error({normal({2, 3})}, {{"dim", -3}}, "out of range")
        .like("torch.log_softmax");

    table.op("softmax_backward(out_grad, y, dim: int)")
        .doc("The gradient of softmax from its result y: y · (out_grad - sum(out_grad · y)).")
        .rule(backward_rule)
        .derivative({"out_grad", "y"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor &g = b.input(0), &y = b.input(1), &u = b.grad();
                        const Tensor along_y = sum(u * y, dim_of(b), true);
                        if (b.needs(0)) grads[0] = y * (u - along_y);
                        if (b.needs(1)) grads[1] = u * (g - sum(g * y, dim_of(b), true)) - g * along_y;
                    })
        .cost([](const Call& call, const Results&) {
            const auto elements = static_cast<double>(call.input(0).numel());
            return Cost{4 * elements, 3 * elements * static_cast<double>(size_of(call.input(0).dtype())), 0};
        })
        .sample({normal({2, 5}), unit({2, 5})}, {{"dim", -1}})
        .sample({normal({3, 4, 2}), unit({3, 4, 2})}, {{"dim", 1}})
        .sample({normal({}), unit({})}, {{"dim", 0}})
        .error({normal({2, 3}), normal({3})}, {{"dim", -1}}, "out_grad is f32[2, 3], y is f32[3]");

    table.op("log_softmax_backward(out_grad, y, dim: int)")
        .doc("The gradient of log_softmax from its result y: out_grad - exp(y) · sum(out_grad).")
        .rule(backward_rule)
        .derivative({"out_grad", "y"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor &g = b.input(0), &u = b.grad();
                        const Tensor weighted = u * exp(b.input(1));
                        if (b.needs(0)) grads[0] = u - sum(weighted, dim_of(b), true);
                        if (b.needs(1)) grads[1] = neg(weighted * sum(g, dim_of(b), true));
                    })
        .cost(exponential_cost<2>)
        .sample({normal({2, 5}), unit({2, 5})}, {{"dim", -1}})
        .sample({normal({3, 4, 2}), unit({3, 4, 2})}, {{"dim", 0}})
        .sample({normal({}), unit({})}, {{"dim", 0}})
        .error({normal({2, 3}), normal({3})}, {{"dim", -1}}, "out_grad is f32[2, 3], y is f32[3]");
}

void register_log_sums(Table& table) {
    table.op("logsumexp_along(x, dim: int)")
        .doc("m + log(sum(exp(x - m))) along one dim, which disappears; m = max(x) where that is finite, else 0.")
        .rule([](const Call& call, Results& results) {
            along_rule(call, results);
            if (call.input(0).rank() > 0) {
                results.results[0].shape.erase(normalize_dim(call.integer(0), call.input(0).rank(), "logsumexp"));
            }
        })
        .derivative({"x", "out"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const bool scalar = b.shape(0).empty();
                        const auto kept = [&](const Tensor& t) {
                            return scalar ? t
                                          : unsqueeze(t, normalize_dim(b.integer(0), b.shape(0).size(), "logsumexp"));
                        };
                        grads[0] = kept(b.grad()) * exp(b.input(0) - kept(b.output()));
                    })
        .cost(exponential_cost<1>)
        .keeps_f32()
        .sample({normal({2, 5})}, {{"dim", -1}})
        .sample({normal({3, 4, 2})}, {{"dim", 1}})
        .sample({normal({})}, {{"dim", 0}})
        .error({normal({2, 3})}, {{"dim", 2}}, "out of range");

    table.op("logsumexp(x, dims: dims = {}, keepdim: bool = false)")
        .doc("log(sum(exp(x))) over dims, all of them by default, without overflow.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const Tensor& x = call.input(0);
            uint64_t reduced = call.dims().empty() ? ~uint64_t{0} : 0;
            for (const Dim dim : call.dims()) reduced |= uint64_t{1} << normalize_dim(dim, x.rank(), "logsumexp");
            Dims order, kept, result;
            for (int64_t d = 0; d < x.rank(); ++d) {
                const bool is_reduced = (reduced >> d & 1) != 0;
                if (!is_reduced) order.push_back(d), kept.push_back(x.shape()[d]);
                if (!is_reduced || call.boolean(0)) result.push_back(is_reduced ? 1 : x.shape()[d]);
            }
            int64_t count = 1;
            for (int64_t d = 0; d < x.rank(); ++d) {
                if ((reduced >> d & 1) != 0) order.push_back(d), count *= x.shape()[d];
            }
            // The reduced dims as one, last: their row-major order is the order of the sum.
            Shape rows = kept;
            rows.push_back(count);
            return {reshape(logsumexp_along(reshape(permute(x, order), rows), -1), result)};
        })
        .sample({normal({2, 5})})
        .sample({normal({2, 3, 4})}, {{"dims", Dims{0, -1}}})
        .sample({normal({3, 17})}, {{"dims", Dims{1}}, {"keepdim", true}})
        .sample({normal({})})
        .error({normal({2, 3})}, {{"dims", Dims{2}}}, "out of range")
        .like("torch.logsumexp");
}

}  // namespace

void register_softmax(Table& table) {
    register_softmaxes(table);
    register_log_sums(table);
}

}  // namespace tenon::ops
