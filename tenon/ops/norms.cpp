// Normalisation over the last dim. Formulas: docs/numerics.md. Each norm is three entries: the one that users call, the
// one that also gives the statistics that its gradient needs, and the gradient, whose own derivative is ordinary ops.
#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/operators.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

const Dims kLast{-1};

Shape leading_shape(const Tensor& x) {
    Shape shape = x.shape();
    shape.resize(shape.size() - 1);
    return shape;
}

// Statistics of rows: f32 even where the rows are 16-bit.
DType statistics_dtype(DType dtype) {
    return dtype == DType::f64 ? DType::f64 : DType::f32;
}

void check_rows(const Call& call, const Tensor& x) {
    if (x.rank() == 0 || !is_floating(x.dtype())) {
        throw Error(Code::usage, call.op.name(), "needs floating rows, got " + describe(x));
    }
}

// weight or bias: [n] of x's dtype.
void check_parameter(const Call& call, const Tensor& x, int input) {
    if (!call.has(input)) return;
    const Tensor& parameter = call.input(input);
    if (parameter.rank() != 1 || parameter.size(0) != x.size(-1) || parameter.dtype() != x.dtype()) {
        throw Error(Code::usage, call.op.name(),
                    call.op.schema().inputs[static_cast<size_t>(input)].name + " is " + describe(parameter) + ", but " +
                        describe(x) + " is normalised over its last dim; it must be " +
                        std::string(name_of(x.dtype())) + "[" + std::to_string(x.size(-1)) + "]");
    }
}

void check_same(const Call& call, const Tensor& g, const Tensor& x) {
    if (g.shape() != x.shape() || g.dtype() != x.dtype()) {
        throw Error(Code::usage, call.op.name(), "out_grad is " + describe(g) + ", x is " + describe(x));
    }
}

// One number for each row: as the forward op gives it, or of x's dtype.
void check_statistics(const Call& call, const Tensor& x, int input) {
    const Tensor& statistics = call.input(input);
    const bool has_dtype = statistics.dtype() == statistics_dtype(x.dtype()) || statistics.dtype() == x.dtype();
    if (statistics.shape() != leading_shape(x) || !has_dtype) {
        throw Error(Code::usage, call.op.name(),
                    call.op.schema().inputs[static_cast<size_t>(input)].name + " is " + describe(statistics) +
                        "; rows of " + describe(x) + " have one number each, in " +
                        std::string(name_of(statistics_dtype(x.dtype()))));
    }
}

Cost norm_cost(const Call& call, double flops_an_element, double passes, int64_t column_sums) {
    const Tensor& x = call.input(0);
    const auto elements = static_cast<double>(x.numel());
    const int64_t n = x.size(-1), rows = n == 0 ? 0 : x.numel() / n;
    // The gradient's column sums: 16 rows of n for each 4096 rows, and for each parameter.
    const int64_t workspace = x.dtype() == DType::f64 ? 0 : (rows + 4095) / 4096 * 16 * n * 4 * column_sums;
    return {flops_an_element * elements, passes * elements * static_cast<double>(size_of(x.dtype())), workspace};
}

Tensor in_statistics_dtype(const Tensor& x) {
    const DType dtype = statistics_dtype(x.dtype());
    return x.dtype() == dtype ? x : cast(x, dtype);
}

Tensor row_sum(const Tensor& x) {
    return sum(x, kLast, true);
}

double row_length(const Tensor& x) {
    return static_cast<double>(x.size(-1));
}

// All dims but the last.
Tensor column_sum(const Tensor& x) {
    return sum(reshape(x, {-1, x.size(-1)}), {0});
}

void register_rms_norm(Table& table) {
    table.op("rms_norm(x, weight?, eps: real = 1e-6)")
        .doc("r = 1/sqrt(sum(x·x)/n + eps), (x·r)·weight over the last dim. Zhang and Sennrich 2019, arXiv:1910.07467.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            return {std::get<0>(rms_norm_forward(call.input(0), call.has(1) ? call.input(1) : Tensor(), call.real(0)))};
        })
        .sample({normal({3, 8}), normal({8})}, {{"eps", 1e-5}})
        .sample({normal({2, 3, 17}), normal({17})})
        .sample({normal({4, 5}), none()})
        .sample({normal({1}), normal({1})}, {{"eps", 0.1}})
        .sample({normal({0, 3}), normal({3})})
        .error({normal({2, 3}), normal({2})}, {}, "weight is f32[2]")
        .error({normal({}), none()}, {}, "needs floating rows")
        .like("torch.nn.functional.rms_norm");

    table.op("rms_norm_forward(x, weight?, eps: real) -> (out, r)")
        .doc("rms_norm and the r of each row.")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(0);
            check_rows(call, x);
            check_parameter(call, x, 1);
            results.add(x.shape(), x.dtype());
            results.add(leading_shape(x), statistics_dtype(x.dtype()));
        })
        .derivative({"x", "weight", "r"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor &x = b.input(0), &weight = b.input(1), &r = b.output(1);
                        if (b.has_grad(0)) {
                            auto [dx, dweight] = rms_norm_backward(b.grad(0), x, weight, r);
                            if (b.needs(0)) grads[0] = dx;
                            if (weight.defined() && b.needs(1)) grads[1] = dweight;
                        }
                        if (b.has_grad(1) && b.needs(0)) {
                            // dr/dx = -r^3 x / n
                            const Tensor slope = unsqueeze(b.grad(1) * (r * r * r) / -row_length(x), -1);
                            const Tensor through_r = in_statistics_dtype(x) * slope;
                            grads[0] = grads[0].defined() ? grads[0] + through_r : through_r;
                        }
                    })
        .cost([](const Call& call, const Results&) { return norm_cost(call, 4, 2, 0); })
        .keeps_f32()
        .sample({normal({3, 8}), normal({8})}, {{"eps", 1e-5}})
        .sample({normal({4, 5}), none()}, {{"eps", 1e-5}})
        .error({normal({2, 3}), normal({2, 3})}, {{"eps", 1e-5}}, "weight is f32[2, 3]");

    table.op("rms_norm_backward(out_grad, x, weight?, r) -> (dx, dweight)")
        .doc(
            "The gradients of rms_norm: with h = x·r and gw = out_grad·weight, dx = (gw - h·(sum(gw·h)/n))·r and "
            "dweight = the sum of out_grad·h over rows (left out without a weight).")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(1);
            check_rows(call, x);
            check_same(call, call.input(0), x);
            check_parameter(call, x, 2);
            check_statistics(call, x, 3);
            results.add(x.shape(), x.dtype());
            if (call.has(2)) results.add({x.size(-1)}, x.dtype());
        })
        // With u and v the gradients of dx and dweight, P = sum(u·x), S = sum(gw·x):
        // dx = r gw - (r^3/n) S x, so its gradients are r u - (r^3/n) P x for gw, -(r^3/n) (u S + P gw) for x and
        // sum(u gw) - (3 r^2/n) P S for r.
        .derivative({"out_grad", "x", "weight", "r"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor g = in_statistics_dtype(b.input(0)), x = in_statistics_dtype(b.input(1)),
                                     r = unsqueeze(b.input(3), -1);
                        const Tensor w = b.input(2).defined() ? in_statistics_dtype(b.input(2)) : Tensor();
                        const auto add_to = [&](size_t input, const Tensor& gradient) {
                            grads[input] = grads[input].defined() ? grads[input] + gradient : gradient;
                        };
                        if (b.has_grad(0)) {
                            const Tensor u = in_statistics_dtype(b.grad(0)), gw = w.defined() ? g * w : g;
                            const Tensor p = row_sum(u * x), s = row_sum(gw * x), cubed = r * r * r / row_length(x);
                            const Tensor for_gw = r * u - cubed * p * x;
                            if (b.needs(0)) add_to(0, w.defined() ? for_gw * w : for_gw);
                            if (b.needs(1)) add_to(1, neg(cubed * (u * s + p * gw)));
                            if (w.defined() && b.needs(2)) add_to(2, column_sum(for_gw * g));
                            if (b.needs(3))
                                add_to(3, squeeze(row_sum(u * gw) - r * r * p * s * (3 / row_length(x)), -1));
                        }
                        if (w.defined() && b.has_grad(1)) {
                            const Tensor v = in_statistics_dtype(b.grad(1));
                            if (b.needs(0)) add_to(0, v * x * r);
                            if (b.needs(1)) add_to(1, v * g * r);
                            if (b.needs(3)) add_to(3, squeeze(row_sum(v * g * x), -1));
                        }
                    })
        .cost([](const Call& call, const Results&) { return norm_cost(call, 9, 3, call.has(2) ? 1 : 0); })
        .sample({normal({3, 8}), normal({3, 8}), normal({8}), positive({3})})
        .sample({normal({2, 2, 5}), normal({2, 2, 5}), none(), positive({2, 2})})
        .error({normal({3, 8}), normal({2, 8}), none(), positive({2})}, {}, "out_grad is f32[3, 8]");
}

void register_layer_norm(Table& table) {
    table.op("layer_norm(x, weight?, bias?, eps: real = 1e-5)")
        .doc(
            "c = x - sum(x)/n, r = 1/sqrt(sum(c·c)/n + eps), (c·r)·weight + bias over the last dim. Ba et al. 2016, "
            "arXiv:1607.06450.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const auto input = [&](int i) { return call.has(i) ? call.input(i) : Tensor(); };
            return {std::get<0>(layer_norm_forward(call.input(0), input(1), input(2), call.real(0)))};
        })
        .sample({normal({3, 8}), normal({8}), normal({8})})
        .sample({normal({2, 3, 17}), normal({17}), none()})
        .sample({normal({4, 5}), none(), none()})
        .sample({normal({2, 5}), none(), normal({5})}, {{"eps", 0.1}})
        .sample({normal({0, 3}), normal({3}), normal({3})})
        .error({normal({2, 3}), normal({3}), normal({2})}, {}, "bias is f32[2]")
        .error({normal({}), none(), none()}, {}, "needs floating rows")
        .like("torch.nn.functional.layer_norm");

    table.op("layer_norm_forward(x, weight?, bias?, eps: real) -> (out, mean, r)")
        .doc("layer_norm and the mean and r of each row.")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(0);
            check_rows(call, x);
            check_parameter(call, x, 1);
            check_parameter(call, x, 2);
            results.add(x.shape(), x.dtype());
            results.add(leading_shape(x), statistics_dtype(x.dtype()));
            results.add(leading_shape(x), statistics_dtype(x.dtype()));
        })
        .derivative({"x", "weight", "mean", "r"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor &x = b.input(0), &weight = b.input(1), &mean = b.output(1), &r = b.output(2);
                        if (b.has_grad(0)) {
                            auto [dx, dweight, dbias] = layer_norm_backward(b.grad(0), x, weight, mean, r);
                            if (b.needs(0)) grads[0] = dx;
                            if (weight.defined() && b.needs(1)) grads[1] = dweight;
                            if (b.needs(2)) grads[2] = dbias;
                        }
                        const auto add_to_x = [&](const Tensor& gradient) {
                            grads[0] = grads[0].defined() ? grads[0] + gradient : gradient;
                        };
                        if (b.needs(0) && b.has_grad(1)) {
                            add_to_x(expand(unsqueeze(b.grad(1) / row_length(x), -1), x.shape()));
                        }
                        if (b.needs(0) && b.has_grad(2)) {
                            // dr/dx = -r^3 (x - mean) / n
                            const Tensor slope = unsqueeze(b.grad(2) * (r * r * r) / -row_length(x), -1);
                            add_to_x((in_statistics_dtype(x) - unsqueeze(mean, -1)) * slope);
                        }
                    })
        .cost([](const Call& call, const Results&) { return norm_cost(call, 8, 2, 0); })
        .keeps_f32()
        .sample({normal({3, 8}), normal({8}), normal({8})}, {{"eps", 1e-5}})
        .sample({normal({4, 5}), none(), none()}, {{"eps", 1e-5}})
        .error({normal({2, 3}), none(), normal({2, 3})}, {{"eps", 1e-5}}, "bias is f32[2, 3]");

    table.op("layer_norm_backward(out_grad, x, weight?, mean, r) -> (dx, dweight, dbias)")
        .doc(
            "The gradients of layer_norm: with h = (x - mean)·r and gw = out_grad·weight, dx = ((gw - sum(gw)/n) - "
            "h·(sum(gw·h)/n))·r; dweight and dbias are the sums of out_grad·h and out_grad over rows.")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(1);
            check_rows(call, x);
            check_same(call, call.input(0), x);
            check_parameter(call, x, 2);
            check_statistics(call, x, 3);
            check_statistics(call, x, 4);
            results.add(x.shape(), x.dtype());
            results.add({x.size(-1)}, x.dtype());
            results.add({x.size(-1)}, x.dtype());
        })
        // With u, v and t the gradients of dx, dweight and dbias, c = x - mean, P = sum(u·c), S = sum(gw·c), a =
        // sum(gw)/n: dx = r gw - r a - (r^3/n) S c, so its gradients are r u - r sum(u)/n - (r^3/n) P c for gw,
        // -(r^3/n) (u S + P gw) for c and sum(u gw) - a sum(u) - (3 r^2/n) P S for r.
        .derivative(
            {"out_grad", "x", "weight", "mean", "r"},
            [](const Backward& b, std::span<Tensor> grads) {
                const Tensor g = in_statistics_dtype(b.input(0)), r = unsqueeze(b.input(4), -1);
                const Tensor c = in_statistics_dtype(b.input(1)) - unsqueeze(b.input(3), -1);
                const Tensor w = b.input(2).defined() ? in_statistics_dtype(b.input(2)) : Tensor();
                const double n = row_length(c);
                const auto add_to = [&](size_t input, const Tensor& gradient) {
                    grads[input] = grads[input].defined() ? grads[input] + gradient : gradient;
                };
                const auto add_to_centred = [&](const Tensor& gradient) {
                    if (b.needs(1)) add_to(1, gradient);
                    if (b.needs(3)) add_to(3, neg(squeeze(row_sum(gradient), -1)));
                };
                if (b.has_grad(0)) {
                    const Tensor u = in_statistics_dtype(b.grad(0)), gw = w.defined() ? g * w : g;
                    const Tensor p = row_sum(u * c), s = row_sum(gw * c), cubed = r * r * r / n, sum_u = row_sum(u);
                    const Tensor for_gw = r * u - r * sum_u / n - cubed * p * c;
                    if (b.needs(0)) add_to(0, w.defined() ? for_gw * w : for_gw);
                    if (b.needs(1) || b.needs(3)) add_to_centred(neg(cubed * (u * s + p * gw)));
                    if (w.defined() && b.needs(2)) add_to(2, column_sum(for_gw * g));
                    if (b.needs(4)) {
                        add_to(4, squeeze(row_sum(u * gw) - row_sum(gw) * sum_u / n - r * r * p * s * (3 / n), -1));
                    }
                }
                if (b.has_grad(1)) {
                    const Tensor v = in_statistics_dtype(b.grad(1));
                    if (b.needs(0)) add_to(0, v * c * r);
                    if (b.needs(1) || b.needs(3)) add_to_centred(v * g * r);
                    if (b.needs(4)) add_to(4, squeeze(row_sum(v * g * c), -1));
                }
                if (b.has_grad(2) && b.needs(0)) add_to(0, expand(in_statistics_dtype(b.grad(2)), b.shape(0)));
            })
        .cost([](const Call& call, const Results&) { return norm_cost(call, 13, 3, 2); })
        .sample({normal({3, 8}), normal({3, 8}), normal({8}), normal({3}), positive({3})})
        .sample({normal({2, 2, 5}), normal({2, 2, 5}), none(), normal({2, 2}), positive({2, 2})})
        .error({normal({3, 8}), normal({3, 8}), none(), normal({3}), positive({2})}, {}, "r is f32[2]");
}

}  // namespace

void register_norms(Table& table) {
    register_rms_norm(table);
    register_layer_norm(table);
}

}  // namespace tenon::ops
