// Tensors from nothing, and copies.
#include <cmath>

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/range_of_dtype.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

constexpr std::string_view no_inputs = "takes no tensor";

void check_same_rank(const Call& call) {
    const Tensor& first = call.input(0);
    const int64_t dim = normalize_dim(call.integer(0), first.rank(), "cat");
    for (const Tensor& each : call.inputs) {
        bool fits = each.rank() == first.rank() && each.rank() > 0;
        for (int64_t d = 0; fits && d < each.rank(); ++d) fits = d == dim || each.shape()[d] == first.shape()[d];
        if (!fits) {
            throw Error(
                Code::usage, "cat",
                "shapes differ outside dim " + std::to_string(dim) + ": " + describe(first) + " and " + describe(each));
        }
    }
}

void register_filled(Table& table) {
    table.op("full(shape: dims, value: real, dtype: dtype = f32, device: device)")
        .doc("Every element is `value`.")
        .rule([](const Call& call, Results& results) {
            check_holds(call.dtype(0), call.real(0), "full");
            results.add(call.dims(), call.dtype(0));
        })
        .no_derivative(no_inputs)
        .error({}, {{"shape", Dims{2}}, {"value", 300.0}, {"dtype", DType::u8}}, "u8 does not hold 300")
        .error({}, {{"shape", Dims{2}}, {"value", 0.5}, {"dtype", DType::i64}}, "i64 does not hold 0.5")
        .sample({}, {{"shape", Dims{2, 3}}, {"value", 1.5}})
        .sample({}, {{"shape", Dims{}}, {"value", -2.0}, {"dtype", DType::i64}})
        .sample({}, {{"shape", Dims{0, 3}}, {"value", 1.0}})
        .error({}, {{"shape", Dims{-1}}, {"value", 0.0}}, "negative")
        .like("torch.full");

    table.op("zeros(shape: dims, dtype: dtype = f32, device: device)")
        .doc("Every element is 0.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            return {full(call.dims(), 0, call.dtype(0), call.device())};
        })
        .sample({}, {{"shape", Dims{2, 3}}})
        .like("torch.zeros");

    table.op("ones(shape: dims, dtype: dtype = f32, device: device)")
        .doc("Every element is 1.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            return {full(call.dims(), 1, call.dtype(0), call.device())};
        })
        .sample({}, {{"shape", Dims{2, 3}}})
        .like("torch.ones");

    table.op("arange(start: real, end: real, step: real = 1, dtype: dtype = i64, device: device)")
        .doc("start, start + step, … up to but without end; element i is start + i·step, computed in f64.")
        .rule([](const Call& call, Results& results) {
            const double step = call.real(2);
            const double count = std::ceil((call.real(1) - call.real(0)) / step);
            if (step == 0 || !(count >= 0) || count > 0x1p62) {
                throw Error(Code::usage, "arange",
                            "step " + std::to_string(step) + " does not lead from " + std::to_string(call.real(0)) +
                                " to " + std::to_string(call.real(1)));
            }
            // Whole and in range at the ends and one step in: so is every element.
            for (const double i : {0.0, 1.0, count - 1}) {
                if (i < count) check_holds(call.dtype(0), call.real(0) + i * step, "arange");
            }
            results.add({static_cast<int64_t>(count)}, call.dtype(0));
        })
        .no_derivative(no_inputs)
        .sample({}, {{"start", 0.0}, {"end", 5.0}})
        .sample({}, {{"start", 1.0}, {"end", 0.0}, {"step", -0.25}, {"dtype", DType::f32}})
        .error({}, {{"start", 0.0}, {"end", 1.0}, {"step", 0.0}}, "does not lead")
        .error({}, {{"start", 0.0}, {"end", 1.0}, {"step", 0.25}}, "i64 does not hold 0.25")
        .error({}, {{"start", 0.0}, {"end", 300.0}, {"dtype", DType::u8}}, "u8 does not hold 299")
        .like("torch.arange");
}

void register_copies(Table& table) {
    table.op("clone(x)")
        .doc("A contiguous copy.")
        .rule([](const Call& call, Results& results) { results.add(call.input(0).shape(), call.input(0).dtype()); })
        .derivative({}, [](const Backward& b, std::span<Tensor> grads) { grads[0] = b.grad(); })
        .samples({Shape{2, 3}, Shape{}, Shape{0, 2}})
        .like("torch.clone");

    table.op("cat(tensors[], dim: int = 0)")
        .doc("Tensors joined along a dim; all other sizes are equal. The dtype is the promoted one.")
        .rule([](const Call& call, Results& results) {
            if (call.inputs.empty()) throw Error(Code::usage, "cat", "needs at least one tensor");
            check_same_rank(call);
            Shape shape = call.input(0).shape();
            const int64_t dim = normalize_dim(call.integer(0), shape.size(), "cat");
            DType dtype = call.input(0).dtype();
            shape[dim] = 0;
            for (const Tensor& each : call.inputs) {
                shape[dim] += each.shape()[dim];
                dtype = promote(dtype, each.dtype());
            }
            results.add(shape, dtype);
        })
        .derivative({},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const int64_t dim = normalize_dim(b.integer(0), b.shape(0).size(), "cat");
                        int64_t start = 0;
                        for (int i = 0; i < b.count(); ++i) {
                            const int64_t length = b.shape(i)[dim];
                            if (b.needs(i)) grads[static_cast<size_t>(i)] = narrow(b.grad(), dim, start, length);
                            start += length;
                        }
                    })
        .sample({normal({2, 3}), normal({4, 3})})
        .sample({normal({2, 3}), normal({2, 0}), normal({2, 2})}, {{"dim", -1}})
        .error({normal({2, 3}), normal({2, 2})}, {}, "shapes differ outside dim 0")
        .error({normal({}), normal({})}, {}, "shapes differ")
        .like("torch.cat");

    table.op("assign(x!, values) -> none")
        .doc("Writes values into x, broadcast to its shape and cast to its dtype.")
        .rule([](const Call& call, Results&) {
            if (broadcast(call.input(0).shape(), call.input(1).shape(), "assign") != call.input(0).shape()) {
                throw Error(Code::usage, "assign",
                            describe(call.input(1)) + " does not fit into " + describe(call.input(0)));
            }
        })
        .no_derivative("it writes its input in place")
        .sample({normal({2, 3}), normal({3})})
        .error({normal({3}), normal({2, 3})}, {}, "does not fit into")
        .like("torch.Tensor.copy_");
}

}  // namespace

void register_creation(Table& table) {
    register_filled(table);
    register_copies(table);
}

}  // namespace tenon::ops
