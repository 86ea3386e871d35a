// The lower and the upper triangle of matrices.
#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

void matrices_rule(const Call& call, Results& results) {
    const Tensor& x = call.input(0);
    if (x.rank() < 2) throw Error(Code::usage, call.op.name(), "needs matrices, not " + describe(x));
    results.add(x.shape(), x.dtype());
}

}  // namespace

void register_triangle(Table& table) {
    table.op("tril(x, diagonal: int = 0)")
        .doc("x where column - row <= diagonal, 0 elsewhere, in each matrix of the last two dims.")
        .rule(matrices_rule)
        .derivative({}, [](const Backward& b, std::span<Tensor> grads) { grads[0] = tril(b.grad(), b.integer(0)); })
        .sample({normal({4, 5})})
        .sample({normal({2, 3, 3})}, {{"diagonal", -1}})
        .sample({normal({5, 3})}, {{"diagonal", 1}})
        .sample({normal({0, 3})})
        .error({normal({3})}, {}, "needs matrices")
        .like("torch.tril");

    table.op("triu(x, diagonal: int = 0)")
        .doc("x where column - row >= diagonal, 0 elsewhere, in each matrix of the last two dims.")
        .rule(matrices_rule)
        .derivative({}, [](const Backward& b, std::span<Tensor> grads) { grads[0] = triu(b.grad(), b.integer(0)); })
        .sample({normal({4, 5})})
        .sample({normal({2, 3, 3})}, {{"diagonal", 1}})
        .sample({normal({5, 3})}, {{"diagonal", -2}})
        .sample({normal({3, 0})})
        .error({normal({3})}, {}, "needs matrices")
        .like("torch.triu");
}

}  // namespace tenon::ops
