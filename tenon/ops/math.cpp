// Elementary functions. In f32 they are the polynomials of tenon/scalar, the same bits on every machine; in f64 they
// are the C library's. Integers give f32.
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"
#include "tenon/scalar/formulas.h"

namespace tenon::ops {

namespace {

using scalar::Expr;

Op& function(Op& op, Fill fill) {
    return op.result(ElementwiseResult::floating).samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}}, fill);
}

}  // namespace

void register_math(Table& table) {
    function(table.op("exp(x)").doc("e^x.").math([](Expr x) { return scalar::exp(x); }).like("torch.exp"),
             Fill::normal);

    function(table.op("log(x)")
                 .doc("The natural logarithm; -infinity at 0, NaN below.")
                 .math([](Expr x) { return scalar::log(x); })
                 .like("torch.log"),
             Fill::positive);

    function(table.op("sin(x)")
                 .doc("The sine of x radians; the range reduction is exact at any size.")
                 .math([](Expr x) { return scalar::sin(x); })
                 .like("torch.sin"),
             Fill::normal);

    function(table.op("cos(x)")
                 .doc("The cosine of x radians; the range reduction is exact at any size.")
                 .math([](Expr x) { return scalar::cos(x); })
                 .like("torch.cos"),
             Fill::normal);

    function(table.op("tanh(x)")
                 .doc("The hyperbolic tangent.")
                 .math([](Expr x) { return scalar::tanh(x); })
                 .like("torch.tanh"),
             Fill::normal);

    function(table.op("erf(x)")
                 .doc("The error function, 2/sqrt(pi) times the integral of e^-t² from 0 to x.")
                 .math([](Expr x) { return scalar::erf(x); })
                 .like("torch.erf"),
             Fill::normal);
}

}  // namespace tenon::ops
