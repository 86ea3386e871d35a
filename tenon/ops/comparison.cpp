// Comparisons: bool results. A NaN is equal to nothing and neither less nor greater.
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"
#include "tenon/scalar/expr.h"

namespace tenon::ops {

namespace {

using scalar::Expr;

void comparison(Op& op) {
    op.result(ElementwiseResult::boolean)
        .no_derivative("a comparison is constant almost everywhere")
        .recompute(Recompute::cheap)
        .sample({normal({3, 4}), normal({3, 4})})
        .sample({integers({3, 1}, 0, 3), integers({4}, 0, 3)})
        .sample({normal({}), normal({2, 3})})
        .sample({normal({0, 4}), normal({4})})
        .error({normal({3, 4}), normal({3, 5})}, {}, "[3, 4]");
}

}  // namespace

void register_comparison(Table& table) {
    comparison(table.op("eq(a, b)").doc("a = b.").math([](Expr a, Expr b) { return a == b; }).like("torch.eq"));
    comparison(table.op("ne(a, b)").doc("a ≠ b.").math([](Expr a, Expr b) { return a != b; }).like("torch.ne"));
    comparison(table.op("lt(a, b)").doc("a < b.").math([](Expr a, Expr b) { return a < b; }).like("torch.lt"));
    comparison(table.op("le(a, b)").doc("a ≤ b.").math([](Expr a, Expr b) { return a <= b; }).like("torch.le"));
    comparison(table.op("gt(a, b)").doc("a > b.").math([](Expr a, Expr b) { return a > b; }).like("torch.gt"));
    comparison(table.op("ge(a, b)").doc("a ≥ b.").math([](Expr a, Expr b) { return a >= b; }).like("torch.ge"));
}

}  // namespace tenon::ops
