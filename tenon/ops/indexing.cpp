// Elements by index, and the sums that scatter gradients back to where elements came from.
//
// A scatter sum adds to each destination in ascending order of the source, starting from what stands there: no thread
// count and no layout changes a bit. Indices are i64 or i32 and never negative.
#include <string>

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/positions.h"
#include "tenon/ops/table.h"
#include "tenon/scalar/formulas.h"

namespace tenon::ops {

namespace {

void check_indices(const Tensor& indices, std::string_view op) {
    if (indices.dtype() == DType::i64 || indices.dtype() == DType::i32) return;
    throw Error(Code::usage, op, "indices are i64 or i32, not " + describe(indices));
}

void check_same_dtype(const Tensor& x, const Tensor& values, std::string_view op) {
    if (x.dtype() == values.dtype()) return;
    throw Error(Code::usage, op, "values are " + describe(values) + " and x is " + describe(x) + "; cast one of them");
}

void check_list(const Tensor& x, const Tensor& indices, std::string_view op) {
    check_indices(indices, op);
    if (indices.rank() > 1 || x.rank() == 0) {
        throw Error(Code::usage, op,
                    "needs a list of indices and a tensor with dims, not " + describe(indices) + " and " + describe(x));
    }
}

// x's shape with `dim` as long as the list.
Shape selected_shape(const Tensor& x, const Tensor& indices, int64_t dim) {
    Shape shape = x.shape();
    shape[dim] = indices.numel();
    return shape;
}

void check_lines(const Tensor& x, const Tensor& index, int64_t dim, std::string_view op) {
    check_indices(index, op);
    bool fits = index.rank() == x.rank();
    for (int64_t d = 0; fits && d < x.rank(); ++d) fits = d == dim || index.shape()[d] <= x.shape()[d];
    if (fits) return;
    throw Error(Code::usage, op,
                "index " + describe(index) + " must have the rank of x, " + describe(x) +
                    ", and no greater size outside dim " + std::to_string(dim));
}

// What a kernel takes from the allocator to have its inputs in order and its indices as i64.
int64_t ordered_bytes(const Call& call) {
    int64_t bytes = 0;
    for (const Tensor& input : call.inputs) {
        const bool as_i64 = input.dtype() == DType::i32;
        if (as_i64 || !input.is_contiguous()) bytes += input.numel() * (as_i64 ? 8 : size_of(input.dtype()));
    }
    return bytes;
}

double bytes_of(const Tensor& tensor) {
    return static_cast<double>(tensor.numel() * size_of(tensor.dtype()));
}

double result_bytes(const Results& results) {
    return static_cast<double>(numel(results.results[0].shape) * size_of(results.results[0].dtype));
}

// Reads only what it selects.
Cost selection_cost(const Call& call, const Results& results) {
    return {0, 2 * result_bytes(results) + bytes_of(call.input(1)), ordered_bytes(call)};
}

// One add for each value scattered; the whole result is written.
Cost scatter_cost(const Call& call, const Results& results) {
    const Tensor& values = call.inputs.back();
    Cost cost{static_cast<double>(values.numel()), result_bytes(results), ordered_bytes(call)};
    for (const Tensor& input : call.inputs) cost.bytes += bytes_of(input);
    return cost;
}

void register_embedding(Table& table) {
    table.op("embedding(weight, indices)")
        .doc("Rows of weight [rows, width] by index: [..., width].")
        .rule([](const Call& call, Results& results) {
            const Tensor& weight = call.input(0);
            check_indices(call.input(1), "embedding");
            if (weight.rank() != 2)
                throw Error(Code::usage, "embedding", "weight is a matrix, not " + describe(weight));
            Shape shape = call.input(1).shape();
            shape.push_back(weight.shape()[1]);
            results.add(shape, weight.dtype());
        })
        .derivative({"indices"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        grads[0] = embedding_backward(b.grad(), b.input(1), b.shape(0)[0]);
                    })
        .cost(selection_cost)
        .sample({normal({5, 3}), integers({2, 4}, 0, 5)})
        .sample({normal({7, 17}), integers({}, 0, 7)})
        .sample({normal({4, 2}), integers({0, 3}, 0, 4)})
        .error({normal({5, 3}), integers({2}, 5, 6)}, {}, "index 5 at position [0]; weight has rows 0 to 4")
        .error({normal({5, 3}), integers({2}, -1, 0)}, {}, "index -1 at position [0]")
        .error({normal({5}), integers({2}, 0, 5)}, {}, "weight is a matrix")
        .like("torch.nn.functional.embedding");

    table.op("embedding_backward(out_grad, indices, rows: int)")
        .doc(
            "The gradient of embedding's weight: row r is the sum, by ascending position, of the gradients at index r.")
        .rule([](const Call& call, Results& results) {
            const Tensor& grad = call.input(0);
            const Tensor& indices = call.input(1);
            check_indices(indices, "embedding_backward");
            Shape expected = indices.shape();
            if (grad.rank() > 0) expected.push_back(grad.shape().back());
            if (grad.rank() == 0 || grad.shape() != expected || call.integer(0) < 0) {
                throw Error(Code::usage, "embedding_backward",
                            "a gradient " + describe(grad) + " does not belong to indices " + describe(indices));
            }
            results.add({call.integer(0), grad.shape().back()}, grad.dtype());
        })
        .derivative({"indices"},
                    [](const Backward& b, std::span<Tensor> grads) { grads[0] = embedding(b.grad(), b.input(1)); })
        .cost([](const Call& call, const Results& results) {
            // The positions of each row in order: a list of starts and a list of positions.
            Cost cost{static_cast<double>(call.input(0).numel()), result_bytes(results) + bytes_of(call.input(0)),
                      ordered_bytes(call)};
            cost.workspace += positions_bytes(call.input(1).numel(), call.integer(0));
            return cost;
        })
        .sample({normal({2, 4, 3}), integers({2, 4}, 0, 5)}, {{"rows", 5}})
        .sample({normal({33, 17}), integers({33}, 0, 3)}, {{"rows", 4}})
        .sample({normal({0, 2}), integers({0}, 0, 3)}, {{"rows", 3}})
        .error({normal({2, 3}), integers({2}, 4, 5)}, {{"rows", 4}}, "index 4 at position [0]; weight has rows 0 to 3")
        .error({normal({2, 3}), integers({3}, 0, 2)}, {{"rows", 2}}, "does not belong to indices");
}

void register_lists(Table& table) {
    table.op("index_select(x, indices, dim: int)")
        .doc("Slices of x along dim, by a list of indices.")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(0);
            check_list(x, call.input(1), "index_select");
            const int64_t dim = normalize_dim(call.integer(0), x.rank(), "index_select");
            results.add(selected_shape(x, call.input(1), dim), x.dtype());
        })
        .derivative({"indices"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor nothing = zeros(b.shape(0), b.grad().dtype(), b.grad().device());
                        grads[0] = index_add(nothing, b.input(1), b.grad(), b.integer(0));
                    })
        .cost(selection_cost)
        .sample({normal({5, 3}), integers({4}, 0, 5)}, {{"dim", 0}})
        .sample({normal({2, 5, 3}), integers({7}, 0, 5)}, {{"dim", -2}})
        .sample({normal({3, 4}), integers({0}, 0, 4)}, {{"dim", 1}})
        .error({normal({5, 3}), integers({2}, 3, 4)}, {{"dim", 1}}, "index 3 at position [0]; dim 1 has 0 to 2")
        .error({normal({5, 3}), integers({2, 2}, 0, 3)}, {{"dim", 1}}, "needs a list of indices")
        .like("torch.index_select");

    table.op("index_add(x, indices, values, dim: int)")
        .doc("x with slice i of values added to slice indices[i] along dim, i ascending.")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(0);
            check_list(x, call.input(1), "index_add");
            check_same_dtype(x, call.input(2), "index_add");
            const int64_t dim = normalize_dim(call.integer(0), x.rank(), "index_add");
            if (call.input(2).shape() != selected_shape(x, call.input(1), dim)) {
                throw Error(Code::usage, "index_add",
                            "values " + describe(call.input(2)) + " are not the slices " +
                                to_string(selected_shape(x, call.input(1), dim)) + " that the indices name");
            }
            results.add(x.shape(), x.dtype());
        })
        .derivative({"indices"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        if (b.needs(0)) grads[0] = b.grad();
                        if (b.needs(2)) grads[2] = index_select(b.grad(), b.input(1), b.integer(0));
                    })
        .cost([](const Call& call, const Results& results) {
            Cost cost = scatter_cost(call, results);
            const int64_t dim = normalize_dim(call.integer(0), call.input(0).rank(), "index_add");
            cost.workspace += positions_bytes(call.input(1).numel(), call.input(0).shape()[dim]);
            return cost;
        })
        .sample({normal({5, 3}), integers({4}, 0, 5), normal({4, 3})}, {{"dim", 0}})
        .sample({normal({2, 5, 3}), integers({7}, 0, 5), normal({2, 7, 3})}, {{"dim", -2}})
        .sample({normal({3, 4}), integers({0}, 0, 4), normal({3, 0})}, {{"dim", 1}})
        .error({normal({5, 3}), integers({2}, 3, 4), normal({5, 2})}, {{"dim", 1}}, "index 3 at position [0]")
        .error({normal({5, 3}), integers({2}, 0, 3), normal({2, 2})}, {{"dim", 0}}, "are not the slices [2, 3]")
        .like("torch.index_add");
}

void register_lines(Table& table) {
    table.op("gather(x, index, dim: int)")
        .doc("out[..., k, ...] = x[..., index[..., k, ...], ...]: one element of x's line along dim for each index.")
        .rule([](const Call& call, Results& results) {
            const int64_t dim = normalize_dim(call.integer(0), call.input(0).rank(), "gather");
            check_lines(call.input(0), call.input(1), dim, "gather");
            results.add(call.input(1).shape(), call.input(0).dtype());
        })
        .derivative({"index"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor nothing = zeros(b.shape(0), b.grad().dtype(), b.grad().device());
                        grads[0] = scatter_add(nothing, b.input(1), b.grad(), b.integer(0));
                    })
        .cost(selection_cost)
        .sample({normal({3, 5}), integers({3, 2}, 0, 5)}, {{"dim", 1}})
        .sample({normal({4, 3, 2}), integers({6, 2, 2}, 0, 4)}, {{"dim", 0}})
        .sample({normal({4}), integers({0}, 0, 4)}, {{"dim", 0}})
        .sample({normal({}), integers({}, 0, 1)}, {{"dim", 0}})
        .error({normal({3, 5}), integers({3, 1}, 5, 6)}, {{"dim", 1}}, "index 5 at position [0, 0]; dim 1 has 0 to 4")
        .error({normal({3, 5}), integers({4, 1}, 0, 5)}, {{"dim", 1}}, "no greater size outside dim 1")
        .like("torch.gather");

    table.op("scatter_add(x, index, values, dim: int)")
        .doc("x with each of values added to the element of its line along dim that index names, in ascending order.")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(0);
            const int64_t dim = normalize_dim(call.integer(0), x.rank(), "scatter_add");
            check_lines(x, call.input(1), dim, "scatter_add");
            check_same_dtype(x, call.input(2), "scatter_add");
            if (call.input(2).shape() != call.input(1).shape()) {
                throw Error(Code::usage, "scatter_add",
                            "values " + describe(call.input(2)) + " do not match index " + describe(call.input(1)));
            }
            results.add(x.shape(), x.dtype());
        })
        .derivative({"index"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        if (b.needs(0)) grads[0] = b.grad();
                        if (b.needs(2)) grads[2] = gather(b.grad(), b.input(1), b.integer(0));
                    })
        .cost(scatter_cost)
        .sample({normal({3, 5}), integers({3, 7}, 0, 5), normal({3, 7})}, {{"dim", 1}})
        .sample({normal({4, 3, 2}), integers({6, 2, 2}, 0, 4), normal({6, 2, 2})}, {{"dim", 0}})
        .sample({normal({}), integers({}, 0, 1), normal({})}, {{"dim", 0}})
        .error({normal({3, 5}), integers({3, 1}, 5, 6), normal({3, 1})}, {{"dim", 1}}, "index 5 at position [0, 0]")
        .error({normal({3, 5}), integers({3, 1}, 0, 5), normal({3, 2})}, {{"dim", 1}}, "do not match index")
        .like("torch.scatter_add");
}

void register_masks(Table& table) {
    table.op("masked_fill(x, mask, value: real)")
        .doc("value where mask is not 0, else x.")
        .math([](Expr x, Expr mask, Expr value) { return scalar::select(scalar::as_mask(mask), value, x); })
        .sample({normal({2, 3}), boolean({3})}, {{"value", -1.5}})
        .sample({normal({}), boolean({2, 1})}, {{"value", 0.0}})
        .sample({normal({0, 2}), boolean({2})}, {{"value", 1.0}})
        .error({normal({2, 3}), boolean({2})}, {{"value", 0.0}}, "do not broadcast")
        .like("torch.masked_fill");

    table.op("one_hot(indices, classes: int)")
        .doc("i64 [..., classes]: 1 at each index, 0 elsewhere.")
        .rule([](const Call& call, Results& results) {
            check_indices(call.input(0), "one_hot");
            if (call.integer(0) < 1) {
                throw Error(Code::usage, "one_hot", "classes is " + std::to_string(call.integer(0)) + "; at least 1");
            }
            Shape shape = call.input(0).shape();
            shape.push_back(call.integer(0));
            results.add(shape, DType::i64);
        })
        .no_derivative("its input is a list of indices")
        .cost([](const Call& call, const Results& results) {
            return Cost{0, result_bytes(results) + bytes_of(call.input(0)), ordered_bytes(call)};
        })
        .sample({integers({2, 3}, 0, 5)}, {{"classes", 5}})
        .sample({integers({}, 0, 2)}, {{"classes", 2}})
        .sample({integers({0}, 0, 2)}, {{"classes", 3}})
        .error({integers({2}, 3, 4)}, {{"classes", 3}}, "index 3 at position [0]; classes are 0 to 2")
        .error({integers({2}, 0, 1)}, {{"classes", 0}}, "at least 1")
        .like("torch.nn.functional.one_hot");
}

}  // namespace

void register_indexing(Table& table) {
    register_embedding(table);
    register_lists(table);
    register_lines(table);
    register_masks(table);
}

}  // namespace tenon::ops
