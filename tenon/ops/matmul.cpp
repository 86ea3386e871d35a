// Matrix products. Each element is one chain of fused multiply-adds over k in ascending order, from +0, whatever the
// layout, the batch or the device; see docs/numerics.md, Products.
#include <numeric>

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/operators.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

std::string both(const Tensor& a, const Tensor& b) {
    return "a is " + describe(a) + ", b is " + describe(b);
}

// One dtype for both, and one with products.
void check_dtypes(std::string_view op, const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype()) throw Error(Code::usage, op, "dtypes differ: " + both(a, b) + "; cast one of them");
    if (a.dtype() == DType::boolean) throw Error(Code::usage, op, "bool has no products; cast to i64 or f32 first");
}

// a [..., m, k]   b [..., k, n], either of them without its row or column dim where it is a vector.
void check_inner(std::string_view op, const Tensor& a, const Tensor& b) {
    if (a.rank() == 0 || b.rank() == 0) {
        throw Error(Code::usage, op, "a number has no rows or columns: " + both(a, b) + "; multiply with mul");
    }
    const Dim a_inner = a.size(-1), b_inner = b.size(b.rank() == 1 ? 0 : -2);
    if (a_inner == b_inner) return;
    std::string hint;
    if (b.rank() > 1 && a_inner == b.size(-1)) hint = "; did you mean " + std::string(op) + "(a, transpose(b))?";
    throw Error(Code::usage, op, "inner dimensions differ: " + both(a, b) + hint);
}

Shape batch_of(const Tensor& x) {
    Shape shape = x.shape();
    shape.resize(x.rank() - 2);
    return shape;
}

double bytes_of(const Tensor& x) {
    return static_cast<double>(x.numel()) * static_cast<double>(size_of(x.dtype()));
}

Cost product_cost(const Call& call, const Results& results) {
    const auto outputs = static_cast<double>(numel(results.results[0].shape));
    Cost cost;
    cost.flops = 2.0 * outputs * static_cast<double>(call.input(0).size(-1));
    cost.bytes = bytes_of(call.input(0)) + bytes_of(call.input(1)) +
                 outputs * static_cast<double>(size_of(results.results[0].dtype));
    if (call.has(2)) {
        cost.flops += outputs;
        cost.bytes += bytes_of(call.input(2));
    }
    return cost;
}

// [..., c] as [rows, c]: leading dims in index order.
Tensor as_rows(const Tensor& x) {
    Dim rows = 1;
    for (int64_t d = 0; d + 1 < x.rank(); ++d) rows *= x.size(d);
    return reshape(x, {rows, x.size(-1)});
}

// [batch..., r, c] as [r, batch... * c]: what folds a batch into the inner dimension.
Tensor batch_beside_columns(const Tensor& x) {
    Dims order(x.rank(), 0);
    order[0] = x.rank() - 2;
    std::iota(order.begin() + 1, order.end() - 1, 0);
    order[x.rank() - 1] = x.rank() - 1;
    const Tensor moved = permute(x, order);
    Dim columns = 1;
    for (int64_t d = 1; d < moved.rank(); ++d) columns *= moved.size(d);
    return reshape(moved, {moved.size(0), columns});
}

// Where one matrix met a whole batch, its gradient's chain runs over the batch too, in index order; where batches were
// broadcast against each other, the engine adds the gradients up.
void bmm_derivative(const Backward& b, std::span<Tensor> grads) {
    const Tensor &left = b.input(0), &right = b.input(1), &grad = b.grad();
    if (b.needs(0)) {
        const bool folds = b.shape(0).size() == 2 && grad.rank() > 2;
        grads[0] = folds ? bmm(batch_beside_columns(grad), as_rows(transpose(right))) : bmm(grad, transpose(right));
    }
    if (b.needs(1)) {
        const bool folds = b.shape(1).size() == 2 && grad.rank() > 2;
        grads[1] = folds ? bmm(transpose(as_rows(left)), as_rows(grad)) : bmm(transpose(left), grad);
    }
}

void register_products(Table& table) {
    table.op("matmul(a, b)")
        .doc(
            "The matrix product over the last two dims; batch dims broadcast. A vector is a row on the left and a "
            "column on the right, and two vectors give the sum of their products.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const Tensor &a = call.input(0), &b = call.input(1);
            check_inner("matmul", a, b);
            check_dtypes("matmul", a, b);
            if (a.rank() == 1 && b.rank() == 1) {
                const Tensor dot = sum(a * b);
                return {dot.dtype() == a.dtype() ? dot : cast(dot, a.dtype())};
            }
            if (a.rank() == 1) return {squeeze(bmm(unsqueeze(a, 0), b), -2)};
            if (b.rank() == 1) return {squeeze(bmm(a, unsqueeze(b, 1)), -1)};
            return {bmm(a, b)};
        })
        .sample({normal({2, 3}), normal({3, 4})})
        .sample({normal({3}), normal({3})})
        .sample({normal({2, 3}), normal({3})})
        .sample({normal({3}), normal({3, 4})})
        .sample({normal({2, 3}), normal({5, 3, 4})})
        .sample({normal({5, 2, 3}), normal({3, 4})})
        .sample({normal({2, 4, 3}), normal({3})})
        .sample({normal({2, 1, 2, 3}), normal({4, 3, 5})})
        .sample({normal({0, 3}), normal({3, 2})})
        .sample({normal({2, 0}), normal({0, 3})})
        .error({normal({4, 768}), normal({3072, 768})}, {},
               "inner dimensions differ: a is f32[4, 768], b is f32[3072, 768]; did you mean matmul(a, transpose(b))?")
        .error({normal({2, 3}), normal({4})}, {}, "inner dimensions differ")
        .error({normal({}), normal({3})}, {}, "multiply with mul")
        .error({normal({2, 3}), integers({3, 2}, 0, 5)}, {}, "dtypes differ")
        .like("torch.matmul");

    table.op("bmm(a, b)")
        .doc("Batches of matrix products. a [..., m, k]   b [..., k, n]   -> [..., m, n]; batch dims broadcast.")
        .rule([](const Call& call, Results& results) {
            const Tensor &a = call.input(0), &b = call.input(1);
            if (a.rank() < 2 || b.rank() < 2) {
                throw Error(Code::usage, "bmm", "takes matrices: " + both(a, b) + "; matmul also takes vectors");
            }
            check_inner("bmm", a, b);
            check_dtypes("bmm", a, b);
            Shape shape = broadcast(batch_of(a), batch_of(b), "bmm");
            shape.push_back(a.size(-2));
            shape.push_back(b.size(-1));
            results.add(shape, a.dtype());
        })
        .derivative({"a", "b"}, bmm_derivative)
        .cost(product_cost)
        .sample({normal({2, 3}), normal({3, 4})})
        .sample({normal({2, 3, 4}), normal({2, 4, 5})})
        .sample({normal({2, 3}), normal({4, 3, 2})})
        .sample({normal({3, 2, 2, 3}), normal({3, 2})})
        .sample({normal({2, 1, 2, 3}), normal({4, 3, 5})})
        .sample({normal({3, 17, 33}), normal({3, 33, 19})})
        .sample({integers({2, 3}, -9, 9), integers({3, 2}, -9, 9)})
        .sample({normal({0, 2, 3}), normal({3, 2})})
        .sample({normal({2, 2, 0}), normal({0, 3})})
        .error({normal({3}), normal({3, 4})}, {}, "matmul also takes vectors")
        .error({normal({2, 2, 3}), normal({3, 3, 2})}, {}, "bmm")
        .like("torch.matmul");
}

void linear_rule(const Call& call, Results& results) {
    const Tensor &x = call.input(0), &weight = call.input(1);
    if (weight.rank() != 2 || x.rank() == 0 || x.size(-1) != weight.size(1)) {
        throw Error(Code::usage, "linear",
                    "x is [..., in] and weight [out, in]; they are " + describe(x) + " and " + describe(weight));
    }
    check_dtypes("linear", x, weight);
    if (call.has(2) && (call.input(2).shape() != Shape{weight.size(0)} || call.input(2).dtype() != x.dtype())) {
        throw Error(Code::usage, "linear",
                    "bias is " + describe(call.input(2)) + "; weight " + describe(weight) + " needs [" +
                        std::to_string(weight.size(0)) + "] of its dtype");
    }
    Shape shape = x.shape();
    shape[x.rank() - 1] = weight.size(0);
    results.add(shape, x.dtype());
}

}  // namespace

void register_matmul(Table& table) {
    register_products(table);

    table.op("linear(x, weight, bias?)")
        .doc(
            "x weight^T + bias. x [..., in]   weight [out, in]   bias [out]   -> [..., out]. A bias is added to the "
            "finished product, one more rounding.")
        .rule(linear_rule)
        .derivative({"x", "weight"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor rows = as_rows(b.grad());
                        if (b.needs(0)) grads[0] = matmul(b.grad(), b.input(1));
                        if (b.needs(1)) grads[1] = matmul(transpose(rows), as_rows(b.input(0)));
                        if (b.count() > 2 && b.needs(2)) grads[2] = sum(rows, {0});
                    })
        .cost(product_cost)
        .sample({normal({2, 3}), normal({4, 3}), none()})
        .sample({normal({2, 3}), normal({4, 3}), normal({4})})
        .sample({normal({2, 3, 5}), normal({4, 5}), normal({4})})
        .sample({normal({5}), normal({4, 5}), normal({4})})
        .sample({normal({0, 5}), normal({4, 5}), normal({4})})
        .sample({normal({3, 0}), normal({4, 0}), normal({4})})
        .sample({integers({2, 3}, -9, 9), integers({4, 3}, -9, 9), integers({4}, -9, 9)})
        .error({normal({2, 3}), normal({3, 4}), none()}, {}, "weight [out, in]; they are f32[2, 3] and f32[3, 4]")
        .error({normal({2, 3}), normal({4, 3}), normal({3})}, {}, "bias is f32[3]")
        .like("torch.nn.functional.linear");
}

}  // namespace tenon::ops
