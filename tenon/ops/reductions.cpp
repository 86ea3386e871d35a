// Sums, means, greatest and least over any dims. What a sum adds in which order: docs/numerics.md, Sums.
#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/operators.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

// Bit d is set where dim d is reduced: all of them where no dim is named. Throws for a dim named twice.
uint64_t reduced_dims(const Dims& dims, int64_t rank, std::string_view op) {
    if (dims.empty()) return ~uint64_t{0};
    uint64_t reduced = 0;
    for (const Dim dim : dims) {
        const int64_t d = normalize_dim(dim, rank, op);
        if ((reduced >> d & 1) != 0) {
            throw Error(Code::usage, op, "dims " + to_string(dims) + " name dim " + std::to_string(d) + " twice");
        }
        reduced |= uint64_t{1} << d;
    }
    return reduced;
}

Shape reduced_shape(const Shape& shape, const Dims& dims, bool keepdim, std::string_view op) {
    const uint64_t reduced = reduced_dims(dims, shape.size(), op);
    Shape result;
    for (int64_t d = 0; d < shape.size(); ++d) {
        if ((reduced >> d & 1) == 0) {
            result.push_back(shape[d]);
        } else if (keepdim) {
            result.push_back(1);
        }
    }
    return result;
}

int64_t reduced_count(const Shape& shape, const Dims& dims) {
    const uint64_t reduced = reduced_dims(dims, shape.size(), "reduction");
    int64_t count = 1;
    for (int64_t d = 0; d < shape.size(); ++d) count *= (reduced >> d & 1) != 0 ? shape[d] : 1;
    return count;
}

// The reduction's result (or its gradient) with its reduced dims as sizes of 1.
Tensor with_kept_dims(const Tensor& result, const Backward& b) {
    return reshape(result, reduced_shape(b.shape(0), b.dims(), true, b.op.name()));
}

void check_floating(const Call& call) {
    if (is_floating(call.input(0).dtype())) return;
    throw Error(Code::usage, call.op.name(),
                "needs a floating dtype, got " + describe(call.input(0)) + "; cast it first");
}

void check_not_empty(const Call& call, const Dims& dims) {
    if (reduced_count(call.input(0).shape(), dims) > 0) return;
    throw Error(Code::usage, call.op.name(),
                "nothing to choose from: " + describe(call.input(0)) + " is empty along the reduced dims");
}

Cost read_once(const Call& call, const Results& results) {
    const Tensor& x = call.input(0);
    const auto elements = static_cast<double>(x.numel());
    const auto outputs = static_cast<double>(numel(results.results[0].shape));
    return {elements,
            elements * static_cast<double>(size_of(x.dtype())) +
                outputs * static_cast<double>(size_of(results.results[0].dtype)),
            0};
}

void extreme_rule(const Call& call, Results& results) {
    const Tensor& x = call.input(0);
    const Shape shape = reduced_shape(x.shape(), call.dims(), call.boolean(0), call.op.name());
    check_not_empty(call, call.dims());
    results.add(shape, x.dtype());
}

// Elements that equal the extreme share its gradient evenly.
void extreme_derivative(const Backward& b, std::span<Tensor> grads) {
    const Tensor& x = b.input(0);
    const Tensor chosen = cast(eq(x, with_kept_dims(b.output(), b)), x.dtype());
    grads[0] = chosen * (with_kept_dims(b.grad(), b) / sum(chosen, b.dims(), true));
}

void register_sums(Table& table) {
    table.op("sum(x, dims: dims = {}, keepdim: bool = false)")
        .doc(
            "The sum over dims, all of them by default. Integers and bools give i64; 16-bit floats add in f32 and "
            "round once.")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(0);
            results.add(reduced_shape(x.shape(), call.dims(), call.boolean(0), "sum"),
                        is_floating(x.dtype()) ? x.dtype() : DType::i64);
        })
        .derivative({}, [](const Backward& b,
                           std::span<Tensor> grads) { grads[0] = expand(with_kept_dims(b.grad(), b), b.shape(0)); })
        .cost(read_once)
        .sample({normal({2, 3})})
        .sample({normal({2, 3, 4})}, {{"dims", Dims{0, -1}}})
        .sample({normal({3, 17})}, {{"dims", Dims{1}}, {"keepdim", true}})
        .sample({normal({33, 5})}, {{"dims", Dims{0}}})
        .sample({normal({})})
        .sample({normal({0, 3})}, {{"dims", Dims{0}}})
        .sample({integers({2, 5}, -4, 5)}, {{"dims", Dims{1}}})
        .error({normal({2, 3})}, {{"dims", Dims{2}}}, "out of range")
        .error({normal({2, 3})}, {{"dims", Dims{1, -1}}}, "name dim 1 twice")
        .like("torch.sum");

    table.op("mean(x, dims: dims = {}, keepdim: bool = false)")
        .doc("The sum divided by the number of elements; 16-bit floats round once. NaN over no elements.")
        .rule([](const Call& call, Results& results) {
            check_floating(call);
            const Tensor& x = call.input(0);
            results.add(reduced_shape(x.shape(), call.dims(), call.boolean(0), "mean"), x.dtype());
        })
        .derivative({},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const auto count = static_cast<double>(reduced_count(b.shape(0), b.dims()));
                        grads[0] = expand(with_kept_dims(b.grad() / count, b), b.shape(0));
                    })
        .cost(read_once)
        .sample({normal({2, 3})})
        .sample({normal({2, 3, 4})}, {{"dims", Dims{0, 2}}})
        .sample({normal({3, 17})}, {{"dims", Dims{-1}}, {"keepdim", true}})
        .sample({normal({})})
        .error({integers({2}, 0, 5)}, {}, "needs a floating dtype")
        .like("torch.mean");

    table.op("var(x, dims: dims = {}, correction: int = 1, keepdim: bool = false)")
        .doc("The variance in two passes: the sum of squared distances from the mean, divided by n - correction.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            check_floating(call);
            const Tensor& x = call.input(0);
            const double count = static_cast<double>(reduced_count(x.shape(), call.dims()) - call.integer(0));
            const Tensor squares = square(x - mean(x, call.dims(), true));
            return {sum(squares, call.dims(), call.boolean(1)) / std::max(count, 0.0)};
        })
        .sample({normal({2, 3})})
        .sample({normal({4, 3, 2})}, {{"dims", Dims{0, 2}}, {"correction", 0}, {"keepdim", true}})
        .error({integers({2}, 0, 5)}, {}, "needs a floating dtype")
        .like("torch.var");
}

void register_extremes(Table& table) {
    table.op("amax(x, dims: dims = {}, keepdim: bool = false)")
        .doc("The greatest element over dims. NaN where any is; +0 is above -0. Ties share the gradient evenly.")
        .rule(extreme_rule)
        .derivative({"x", "out"}, extreme_derivative)
        .cost(read_once)
        .sample({distinct({2, 3})})
        .sample({distinct({2, 3, 4})}, {{"dims", Dims{0, -1}}})
        .sample({distinct({3, 17})}, {{"dims", Dims{1}}, {"keepdim", true}})
        .sample({distinct({})})
        .sample({distinct({0, 3})}, {{"dims", Dims{1}}})
        .error({normal({0, 3})}, {{"dims", Dims{0}}}, "nothing to choose from")
        .like("torch.amax");

    table.op("amin(x, dims: dims = {}, keepdim: bool = false)")
        .doc("The least element over dims. NaN where any is; -0 is below +0. Ties share the gradient evenly.")
        .rule(extreme_rule)
        .derivative({"x", "out"}, extreme_derivative)
        .cost(read_once)
        .sample({distinct({2, 3})})
        .sample({distinct({2, 3, 4})}, {{"dims", Dims{1}}, {"keepdim", true}})
        .error({normal({2, 0})}, {}, "nothing to choose from")
        .like("torch.amin");

    table.op("argmax(x, dim: int = -1, keepdim: bool = false)")
        .doc("The first index of the greatest element along a dim, i64; NaN counts as greatest.")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(0);
            const Dims dims{normalize_dim(call.integer(0), x.rank(), "argmax")};
            check_not_empty(call, dims);
            results.add(reduced_shape(x.shape(), dims, call.boolean(1), "argmax"), DType::i64);
        })
        .no_derivative("an index does not move with small changes")
        .cost(read_once)
        .sample({distinct({2, 3})})
        .sample({distinct({2, 3, 4})}, {{"dim", 0}, {"keepdim", true}})
        .sample({distinct({})})
        .sample({integers({3, 40}, 0, 4)}, {{"dim", 1}})
        .error({normal({2, 3})}, {{"dim", 2}}, "out of range")
        .error({normal({2, 0})}, {}, "nothing to choose from")
        .like("torch.argmax");
}

}  // namespace

void register_reductions(Table& table) {
    register_sums(table);
    register_extremes(table);
}

}  // namespace tenon::ops
