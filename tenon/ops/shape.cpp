// Views: other shapes and strides over the same bytes, and the few ops that must copy to get there.
#include <numeric>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

// Fills in one -1; throws when the counts differ.
Shape resolve_shape(const Tensor& x, const Dims& wanted, std::string_view op) {
    Shape shape = wanted;
    int64_t unknown = -1;
    int64_t known = 1;
    for (int64_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == -1 && unknown < 0) {
            unknown = d;
        } else if (shape[d] < 0) {
            throw Error(Code::usage, op,
                        "shape " + to_string(wanted) + " has a negative size; only one -1 may stand in it");
        } else if (__builtin_mul_overflow(known, shape[d], &known)) {
            throw Error(Code::usage, op, "shape " + to_string(wanted) + " has more elements than fit in 63 bits");
        }
    }
    const int64_t count = x.numel();
    if (unknown >= 0 && known > 0 && count % known == 0) {
        shape[unknown] = count / known;
        return shape;
    }
    if (unknown >= 0 || known != count) {
        throw Error(
            Code::usage, op,
            describe(x) + " has " + std::to_string(count) + " elements; they do not fill shape " + to_string(wanted));
    }
    return shape;
}

// Strides that show x under `shape` without a copy, where such strides exist.
std::optional<Dims> view_strides(const Tensor& x, const Shape& shape) {
    if (x.numel() == 0) return contiguous_strides(shape);
    Dims strides(shape.size(), 0);
    int64_t to = shape.size() - 1;
    // Walks blocks of dims that lie one in another in memory, and cuts each into the wanted sizes.
    for (int64_t from = x.rank() - 1; from >= 0;) {
        int64_t block = x.shape()[from];
        const int64_t stride = x.strides()[from];
        int64_t outer = from - 1;
        while (outer >= 0 && (x.shape()[outer] == 1 || x.strides()[outer] == stride * block)) {
            block *= x.shape()[outer];
            --outer;
        }
        int64_t left = block;
        while (to >= 0 && (left > 1 || shape[to] == 1)) {
            if (left % shape[to] != 0) return std::nullopt;
            strides[to] = stride * (block / left);
            left /= shape[to];
            --to;
        }
        if (left != 1) return std::nullopt;
        from = outer;
    }
    for (; to >= 0; --to) strides[to] = 1;
    return strides;
}

Tensor permuted(const Tensor& x, const Dims& order, std::string_view op) {
    if (order.size() != x.rank()) {
        throw Error(Code::usage, op, "order " + to_string(order) + " does not name each dim of " + describe(x));
    }
    Shape shape(x.rank(), 0);
    Dims strides(x.rank(), 0);
    uint64_t seen = 0;
    for (int64_t d = 0; d < x.rank(); ++d) {
        const int64_t from = normalize_dim(order[d], x.rank(), op);
        if ((seen >> from & 1) != 0) {
            throw Error(Code::usage, op, "order " + to_string(order) + " names dim " + std::to_string(from) + " twice");
        }
        seen |= uint64_t{1} << from;
        shape[d] = x.shape()[from];
        strides[d] = x.strides()[from];
    }
    return Tensor(x, shape, strides, 0);
}

Dims inverse_order(const Dims& order) {
    Dims inverse(order.size(), 0);
    for (int64_t d = 0; d < order.size(); ++d) inverse[normalize_dim(order[d], order.size(), "permute")] = d;
    return inverse;
}

void register_reshapes(Table& table) {
    table.op("view(x, shape: dims)")
        .doc("The same bytes under another shape; one size may be -1. An error where that needs a copy.")
        .view([](const Call& call) {
            const Tensor& x = call.input(0);
            const Shape shape = resolve_shape(x, call.dims(), "view");
            const auto strides = view_strides(x, shape);
            if (!strides) {
                throw Error(Code::usage, "view",
                            describe(x) + " with strides " + to_string(x.strides()) + " cannot be seen as " +
                                to_string(shape) + " without a copy; use reshape");
            }
            return Tensor(x, shape, *strides, 0);
        })
        .derivative({}, [](const Backward& b, std::span<Tensor> grads) { grads[0] = reshape(b.grad(), b.shape(0)); })
        .sample({normal({2, 6})}, {{"shape", Dims{3, 4}}})
        .sample({normal({2, 6})}, {{"shape", Dims{-1}}})
        .sample({normal({})}, {{"shape", Dims{1, 1}}})
        .error({normal({2, 3})}, {{"shape", Dims{4, 2}}}, "do not fill shape [4, 2]")
        .error({normal({2, 3})}, {{"shape", Dims{-1, -1}}}, "only one -1")
        .like("torch.Tensor.view");

    table.op("reshape(x, shape: dims)")
        .doc("The same elements in order under another shape: a view where possible, else a copy.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const Tensor& x = call.input(0);
            const Shape shape = resolve_shape(x, call.dims(), "reshape");
            if (shape == x.shape()) return {x};
            return {view(view_strides(x, shape) ? x : contiguous(x), shape)};
        })
        .sample({normal({2, 6})}, {{"shape", Dims{3, 4}}})
        .sample({normal({0, 3})}, {{"shape", Dims{3, 0}}})
        .error({normal({2, 3})}, {{"shape", Dims{5}}}, "do not fill shape [5]")
        .like("torch.reshape");

    table.op("flatten(x, start: int = 0, end: int = -1)")
        .doc("Dims start..end folded into one.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const Tensor& x = call.input(0);
            if (x.rank() == 0) return {reshape(x, {1})};
            const int64_t start = normalize_dim(call.integer(0), x.rank(), "flatten");
            const int64_t end = normalize_dim(call.integer(1), x.rank(), "flatten");
            if (end < start) throw Error(Code::usage, "flatten", "end comes before start");
            Shape shape;
            for (int64_t d = 0; d < x.rank(); ++d) {
                if (d > start && d <= end) {
                    shape[start] *= x.shape()[d];
                } else {
                    shape.push_back(x.shape()[d]);
                }
            }
            return {reshape(x, shape)};
        })
        .sample({normal({2, 3, 4})}, {{"start", 1}})
        .sample({normal({})})
        .error({normal({2, 3})}, {{"start", 1}, {"end", 0}}, "end comes before start")
        .like("torch.flatten");

    table.op("contiguous(x)")
        .doc("x itself where its elements lie in order, else a copy in which they do.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const Tensor& x = call.input(0);
            return {x.is_contiguous() ? x : clone(x)};
        })
        .samples({Shape{2, 3}, Shape{}, Shape{0, 2}})
        .like("torch.Tensor.contiguous");
}

void register_dim_orders(Table& table) {
    table.op("permute(x, order: dims)")
        .doc("Dim d of the result is dim order[d] of x. A view.")
        .view([](const Call& call) { return permuted(call.input(0), call.dims(), "permute"); })
        .derivative({}, [](const Backward& b,
                           std::span<Tensor> grads) { grads[0] = permute(b.grad(), inverse_order(b.dims())); })
        .sample({normal({2, 3, 4})}, {{"order", Dims{2, 0, 1}}})
        .sample({normal({2, 0})}, {{"order", Dims{-1, 0}}})
        .sample({normal({})}, {{"order", Dims{}}})
        .error({normal({2, 3})}, {{"order", Dims{0, 0}}}, "twice")
        .error({normal({2, 3})}, {{"order", Dims{0}}}, "does not name each dim")
        .like("torch.permute");

    table.op("transpose(x, a: int = -2, b: int = -1)")
        .doc("Swaps two dims. A view.")
        .view([](const Call& call) {
            const Tensor& x = call.input(0);
            Dims order(x.rank(), 0);
            std::iota(order.begin(), order.end(), 0);
            const int64_t a = normalize_dim(call.integer(0), x.rank(), "transpose");
            const int64_t b = normalize_dim(call.integer(1), x.rank(), "transpose");
            if (x.rank() > 0) std::swap(order[a], order[b]);
            return permuted(x, order, "transpose");
        })
        .derivative({}, [](const Backward& b,
                           std::span<Tensor> grads) { grads[0] = transpose(b.grad(), b.integer(0), b.integer(1)); })
        .sample({normal({2, 3})})
        .sample({normal({2, 3, 4})}, {{"a", 0}, {"b", 2}})
        .sample({normal({})}, {{"a", 0}, {"b", 0}})
        .error({normal({2, 3})}, {{"a", 2}}, "out of range")
        .like("torch.transpose");

    table.op("expand(x, shape: dims)")
        .doc("Sizes of 1, and new leading dims, repeated without a copy; -1 keeps a size. A view.")
        .view([](const Call& call) {
            const Tensor& x = call.input(0);
            Shape shape = call.dims();
            const int64_t extra = shape.size() - x.rank();
            Dims strides(shape.size(), 0);
            bool fits = extra >= 0;
            for (int64_t d = 0; fits && d < shape.size(); ++d) {
                const bool is_new = d < extra;
                if (!is_new && shape[d] == -1) shape[d] = x.shape()[d - extra];
                fits = shape[d] >= 0 && (is_new || x.shape()[d - extra] == shape[d] || x.shape()[d - extra] == 1);
                if (fits && !is_new && x.shape()[d - extra] == shape[d]) strides[d] = x.strides()[d - extra];
            }
            if (!fits) {
                throw Error(Code::usage, "expand", describe(x) + " does not expand to " + to_string(call.dims()));
            }
            return Tensor(x, shape, strides, 0);
        })
        // The engine sums a gradient down to its input's shape: here that is the whole derivative.
        .derivative({}, [](const Backward& b, std::span<Tensor> grads) { grads[0] = b.grad(); })
        .sample({normal({3, 1})}, {{"shape", Dims{2, 3, 4}}})
        .sample({normal({})}, {{"shape", Dims{2}}})
        .sample({normal({2, 1})}, {{"shape", Dims{-1, 3}}})
        .error({normal({2, 3})}, {{"shape", Dims{2, 4}}}, "does not expand")
        .like("torch.Tensor.expand");

    table.op("squeeze(x, dim: int)")
        .doc("Drops a dim of size 1 (x unchanged where its size is another). A view.")
        .view([](const Call& call) {
            const Tensor& x = call.input(0);
            const int64_t dim = normalize_dim(call.integer(0), x.rank(), "squeeze");
            Shape shape = x.shape();
            Dims strides = x.strides();
            if (x.rank() > 0 && shape[dim] == 1) {
                shape.erase(dim);
                strides.erase(dim);
            }
            return Tensor(x, shape, strides, 0);
        })
        .derivative({}, [](const Backward& b, std::span<Tensor> grads) { grads[0] = reshape(b.grad(), b.shape(0)); })
        .sample({normal({2, 1, 3})}, {{"dim", 1}})
        .sample({normal({2, 3})}, {{"dim", -1}})
        .error({normal({2, 1})}, {{"dim", 2}}, "out of range")
        .like("torch.squeeze");

    table.op("unsqueeze(x, dim: int)")
        .doc("Adds a dim of size 1. A view.")
        .view([](const Call& call) {
            const Tensor& x = call.input(0);
            const int64_t dim = normalize_dim(call.integer(0), x.rank() + 1, "unsqueeze");
            Shape shape = x.shape();
            Dims strides = x.strides();
            shape.insert(dim, 1);
            strides.insert(dim, 1);
            return Tensor(x, shape, strides, 0);
        })
        .derivative({}, [](const Backward& b, std::span<Tensor> grads) { grads[0] = reshape(b.grad(), b.shape(0)); })
        .sample({normal({2, 3})}, {{"dim", 1}})
        .sample({normal({})}, {{"dim", -1}})
        .error({normal({2, 3})}, {{"dim", 4}}, "out of range")
        .like("torch.unsqueeze");
}

void register_slices(Table& table) {
    table.op("narrow(x, dim: int, start: int, length: int)")
        .doc("Elements start..start+length of one dim; a negative start counts from the end. A view.")
        .view([](const Call& call) {
            const Tensor& x = call.input(0);
            const int64_t dim = normalize_dim(call.integer(0), x.rank(), "narrow");
            const int64_t size = x.rank() > 0 ? x.shape()[dim] : 0;
            const int64_t start = call.integer(1) < 0 ? call.integer(1) + size : call.integer(1);
            const int64_t length = call.integer(2);
            if (x.rank() == 0 || start < 0 || length < 0 || start > size - length) {
                throw Error(Code::usage, "narrow",
                            "start " + std::to_string(call.integer(1)) + " with length " + std::to_string(length) +
                                " leaves dim " + std::to_string(dim) + " of " + describe(x));
            }
            Shape shape = x.shape();
            shape[dim] = length;
            return Tensor(x, shape, x.strides(), start * x.strides()[dim]);
        })
        .derivative({},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Shape& whole = b.shape(0);
                        const int64_t dim = normalize_dim(b.integer(0), whole.size(), "narrow");
                        const int64_t start = b.integer(1) < 0 ? b.integer(1) + whole[dim] : b.integer(1);
                        Shape before = whole;
                        Shape after = whole;
                        before[dim] = start;
                        after[dim] = whole[dim] - start - b.integer(2);
                        const Tensor parts[] = {zeros(before, b.grad().dtype(), b.grad().device()), b.grad(),
                                                zeros(after, b.grad().dtype(), b.grad().device())};
                        grads[0] = cat(parts, dim);
                    })
        .sample({normal({4, 3})}, {{"dim", 0}, {"start", 1}, {"length", 2}})
        .sample({normal({4, 3})}, {{"dim", 1}, {"start", -2}, {"length", 2}})
        .sample({normal({4, 3})}, {{"dim", 0}, {"start", 2}, {"length", 0}})
        .error({normal({4, 3})}, {{"dim", 0}, {"start", 3}, {"length", 2}}, "leaves dim 0")
        .like("torch.narrow");

    table.op("select(x, dim: int, index: int)")
        .doc("One index of a dim, which disappears; a negative index counts from the end. A view.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const Tensor& x = call.input(0);
            const int64_t dim = normalize_dim(call.integer(0), x.rank(), "select");
            const int64_t size = x.rank() > 0 ? x.shape()[dim] : 0;
            const int64_t index = call.integer(1);
            if (index < -size || index >= size) {
                throw Error(
                    Code::usage, "select",
                    "index " + std::to_string(index) + " leaves dim " + std::to_string(dim) + " of " + describe(x));
            }
            return {squeeze(narrow(x, dim, index, 1), dim)};
        })
        .sample({normal({4, 3})}, {{"dim", 1}, {"index", -1}})
        .sample({normal({2, 3, 4})}, {{"dim", 0}, {"index", 1}})
        .error({normal({4, 3})}, {{"dim", 0}, {"index", 4}}, "leaves dim 0")
        .like("torch.select");

    table.op("split(x, size: int, dim: int = 0) -> tensors")
        .doc("Pieces of `size` along a dim, the last one shorter where it does not divide. Views.")
        .composite([](const Call& call) {
            const Tensor& x = call.input(0);
            const int64_t dim = normalize_dim(call.integer(1), x.rank(), "split");
            const int64_t size = call.integer(0);
            if (size < 1 || x.rank() == 0) {
                throw Error(Code::usage, "split", "size " + std::to_string(size) + " does not cut " + describe(x));
            }
            std::vector<Tensor> pieces;
            for (int64_t start = 0; start < x.shape()[dim]; start += size) {
                pieces.push_back(narrow(x, dim, start, std::min(size, x.shape()[dim] - start)));
            }
            if (pieces.empty()) pieces.push_back(x);
            return pieces;
        })
        .sample({normal({5, 3})}, {{"size", 2}})
        .sample({normal({2, 6})}, {{"size", 3}, {"dim", 1}})
        .error({normal({4})}, {{"size", 0}}, "does not cut")
        .like("torch.split");

    table.op("stack(tensors[], dim: int = 0)")
        .doc("Tensors of one shape along a new dim.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            if (call.inputs.empty()) throw Error(Code::usage, "stack", "needs at least one tensor");
            std::vector<Tensor> unsqueezed;
            for (const Tensor& each : call.inputs) {
                if (each.shape() != call.input(0).shape()) {
                    throw Error(Code::usage, "stack",
                                "shapes differ: " + describe(call.input(0)) + " and " + describe(each));
                }
                unsqueezed.push_back(unsqueeze(each, call.integer(0)));
            }
            const int64_t dim = normalize_dim(call.integer(0), call.input(0).rank() + 1, "stack");
            return {cat(unsqueezed, dim)};
        })
        .sample({normal({2, 3}), normal({2, 3})}, {{"dim", 1}})
        .sample({normal({}), normal({}), normal({})})
        .error({normal({2}), normal({3})}, {}, "shapes differ")
        .like("torch.stack");
}

}  // namespace

void register_shape(Table& table) {
    register_reshapes(table);
    register_dim_orders(table);
    register_slices(table);
}

}  // namespace tenon::ops
