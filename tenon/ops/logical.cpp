// Truth values (a number is true where it is not 0), and the change of dtype.
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"
#include "tenon/scalar/formulas.h"

namespace tenon::ops {

namespace {

using scalar::as_mask;
using scalar::Expr;

void logical(Op& op) {
    op.result(ElementwiseResult::boolean)
        .no_derivative("a truth value is constant almost everywhere")
        .recompute(Recompute::cheap)
        .error({boolean({3, 4}), boolean({3, 5})}, {}, "[3, 4]")
        .sample({boolean({3, 4}), boolean({3, 4})})
        .sample({integers({3, 1}, 0, 2), boolean({4})})
        .sample({boolean({}), boolean({})})
        .sample({boolean({0, 4}), boolean({4})});
}

}  // namespace

void register_logical(Table& table) {
    logical(table.op("logical_and(a, b)")
                .doc("Both are true.")
                .math([](Expr a, Expr b) { return as_mask(a) && as_mask(b); })
                .like("torch.logical_and"));
    logical(table.op("logical_or(a, b)")
                .doc("At least one is true.")
                .math([](Expr a, Expr b) { return as_mask(a) || as_mask(b); })
                .like("torch.logical_or"));
    table.op("logical_not(x)")
        .doc("x is not true.")
        .math([](Expr x) { return !as_mask(x); })
        .result(ElementwiseResult::boolean)
        .no_derivative("a truth value is constant almost everywhere")
        .recompute(Recompute::cheap)
        .sample({boolean({3, 4})})
        .sample({integers({5}, 0, 2)})
        .sample({boolean({})})
        .sample({boolean({0, 2})})
        .like("torch.logical_not");

    table.op("cast(x, dtype: dtype)")
        .doc(
            "x in another dtype: floating to nearest even (f64 and integers reach 16 bits by way of f32), to integers "
            "toward zero, to bool where it is not 0. An integer that the dtype does not hold wraps; so does a floating "
            "number, but for i32 and i64, where it and NaN give the least integer.")
        .rule([](const Call& call, Results& results) { results.add(call.input(0).shape(), call.dtype(0)); })
        .derivative({},
                    [](const Backward& b, std::span<Tensor> grads) { grads[0] = cast(b.grad(), b.input_dtypes[0]); })
        .recompute(Recompute::cheap)
        .sample({normal({3, 4})}, {{"dtype", DType::f64}})
        .sample({normal({})}, {{"dtype", DType::f64}})
        .sample({normal({0, 2})}, {{"dtype", DType::f64}})
        .sample({integers({5}, -3, 4)}, {{"dtype", DType::f32}})
        .like("torch.Tensor.to");
}

}  // namespace tenon::ops
