// Activation functions. Each is one expression; its kernels, gradient, binding, docs and tests follow from it.
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"
#include "tenon/scalar/formulas.h"

namespace tenon::ops {

namespace {

using scalar::Expr;

}  // namespace

void register_activations(Table& table) {
    table.op("relu(x)")
        .doc("max(x, 0). Its derivative at 0 is 0.")
        .math([](Expr x) { return scalar::relu(x); })
        .slope(0, [](Expr x) { return scalar::as_number(x > 0.0); })
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}}, Fill::distinct)
        .like("torch.nn.functional.relu");

    table.op("sigmoid(x)")
        .doc("1 / (1 + e^-x).")
        .math([](Expr x) { return scalar::sigmoid(x); })
        .result(ElementwiseResult::floating)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}})
        .like("torch.sigmoid");

    table.op("silu(x)")
        .doc("x · sigmoid(x). Elfwing et al. 2017, arXiv:1702.03118.")
        .math([](Expr x) { return scalar::silu(x); })
        .result(ElementwiseResult::floating)
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}})
        .like("torch.nn.functional.silu");

    table.op("gelu(x)")
        .doc("x/2 · (1 + erf(x/sqrt 2)). Hendrycks and Gimpel 2016, arXiv:1606.08415.")
        .math([](Expr x) { return scalar::gelu(x); })
        .result(ElementwiseResult::floating)
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}})
        .like("torch.nn.functional.gelu");

    table.op("gelu_tanh(x)")
        .doc(
            "x/2 · (1 + tanh(u)), u = sqrt(2/pi) · (x + 0.044715 x³), computed as x · sigmoid(2u), which does not "
            "cancel. "
            "Hendrycks and Gimpel 2016, arXiv:1606.08415.")
        .math([](Expr x) { return scalar::gelu_tanh(x); })
        .result(ElementwiseResult::floating)
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}})
        .like("torch.nn.functional.gelu(approximate='tanh')");
}

}  // namespace tenon::ops
