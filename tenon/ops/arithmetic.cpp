// Sums, products, powers, and the choices between numbers. Dtypes meet as PyTorch's do; division gives a floating
// dtype.
#include <cmath>

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"
#include "tenon/scalar/formulas.h"

namespace tenon::ops {

namespace {

using scalar::Expr;

// Shapes that every two-operand entry is tried on: equal, broadcast both ways, 0-d, empty.
Op& binary_samples(Op& op, SampleInput (*left)(const Shape&), SampleInput (*right)(const Shape&)) {
    return op.sample({left({3, 4}), right({3, 4})})
        .sample({left({2, 3, 4}), right({4})})
        .sample({left({3, 1}), right({1, 4})})
        .sample({left({}), right({2, 3})})
        .sample({left({}), right({})})
        .sample({left({0, 4}), right({4})})
        .error({left({3, 4}), right({3, 5})}, {}, "[3, 4]");
}

void register_sums_and_products(Table& table) {
    binary_samples(table.op("add(a, b)")
                       .doc("a + b.")
                       .math([](Expr a, Expr b) { return a + b; })
                       .derivative({},
                                   [](const Backward& b, std::span<Tensor> grads) {
                                       if (b.needs(0)) grads[0] = b.grad();
                                       if (b.needs(1)) grads[1] = b.grad();
                                   })
                       .recompute(Recompute::cheap)
                       .like("torch.add"),
                   normal, normal);

    binary_samples(table.op("sub(a, b)")
                       .doc("a - b.")
                       .math([](Expr a, Expr b) { return a - b; })
                       .derivative({},
                                   [](const Backward& b, std::span<Tensor> grads) {
                                       if (b.needs(0)) grads[0] = b.grad();
                                       if (b.needs(1)) grads[1] = neg(b.grad());
                                   })
                       .recompute(Recompute::cheap)
                       .like("torch.sub"),
                   normal, normal);

    binary_samples(table.op("mul(a, b)")
                       .doc("a · b.")
                       .math([](Expr a, Expr b) { return a * b; })
                       .recompute(Recompute::cheap)
                       .like("torch.mul"),
                   normal, normal);

    binary_samples(table.op("div(a, b)")
                       .doc("a / b; integers give f32.")
                       .math([](Expr a, Expr b) { return a / b; })
                       .result(ElementwiseResult::floating)
                       .recompute(Recompute::cheap)
                       .like("torch.div"),
                   normal, positive);

    table.op("neg(x)")
        .doc("-x.")
        .math([](Expr x) { return -x; })
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}})
        .like("torch.neg");

    table.op("reciprocal(x)")
        .doc("1 / x.")
        .math([](Expr x) { return scalar::reciprocal(x); })
        .result(ElementwiseResult::floating)
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}}, Fill::positive)
        .like("torch.reciprocal");
}

Tensor whole_power(const Tensor& x, double exponent) {
    if (exponent < 0) {
        throw Error(
            Code::usage, "pow",
            "an integer to the power " + std::to_string(exponent) + " is no integer; cast x to a floating dtype first");
    }
    return power(x, exponent);
}

// The exponents whose result is exact or one or two roundings away are computed so, as PyTorch does.
Tensor power_of(const Tensor& x, double exponent) {
    if (!is_floating(x.dtype())) {
        return exponent == std::floor(exponent) ? whole_power(x, exponent) : power_of(cast(x, DType::f32), exponent);
    }
    if (exponent == 2) return square(x);
    if (exponent == 3) return mul(square(x), x);
    if (exponent == 0.5) return sqrt(x);
    if (exponent == -0.5) return rsqrt(x);
    if (exponent == -1) return reciprocal(x);
    if (exponent == -2) return reciprocal(square(x));
    return power(x, exponent);
}

void register_powers(Table& table) {
    table.op("power(x, exponent: real)")
        .doc(
            "x^exponent by exp and log, with the special values of C's pow; pow() knows the exponents that have a "
            "shorter way.")
        .math([](Expr x, Expr exponent) { return scalar::pow(x, exponent); })
        .sample({positive({3, 4})}, {{"exponent", 2.7}})
        .sample({positive({})}, {{"exponent", -1.3}})
        .sample({positive({0, 2})}, {{"exponent", 0.3}})
        .sample({distinct({5})}, {{"exponent", 4.0}})
        .sample({distinct({5})}, {{"exponent", -3.0}})
        .sample({distinct({5})}, {{"exponent", 0.0}})
        .like("torch.pow");

    table.op("pow(x, exponent: real)")
        .doc("x^exponent. 2, 3, 0.5, -0.5, -1, -2 are products, square roots and reciprocals.")
        .composite([](const Call& call) -> std::vector<Tensor> { return {power_of(call.input(0), call.real(0))}; })
        .sample({normal({3, 4})}, {{"exponent", 2.0}})
        .sample({normal({2, 1, 5})}, {{"exponent", 3.0}})
        .sample({positive({3})}, {{"exponent", 0.5}})
        .sample({positive({3})}, {{"exponent", -0.5}})
        .sample({positive({})}, {{"exponent", -1.0}})
        .sample({positive({0, 2})}, {{"exponent", -2.0}})
        .sample({positive({3, 4})}, {{"exponent", 1.7}})
        .error({integers({3}, 1, 9)}, {{"exponent", -1.0}}, "cast x to a floating dtype")
        .like("torch.pow");

    table.op("square(x)")
        .doc("x · x.")
        .math([](Expr x) { return scalar::square(x); })
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}})
        .like("torch.square");

    table.op("sqrt(x)")
        .doc("The square root, correctly rounded; NaN for a negative x.")
        .math([](Expr x) { return scalar::sqrt(x); })
        .result(ElementwiseResult::floating)
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}}, Fill::positive)
        .like("torch.sqrt");

    table.op("rsqrt(x)")
        .doc("1 / sqrt(x): a division and a square root, no estimate.")
        .math([](Expr x) { return scalar::rsqrt(x); })
        .result(ElementwiseResult::floating)
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}}, Fill::positive)
        .like("torch.rsqrt");
}

// 1 where the operand is the one chosen, 1/2 where the two are equal.
Expr share(Expr chosen, Expr equal) {
    return scalar::select(chosen, 1.0, scalar::select(equal, 0.5, 0.0));
}

void register_choices(Table& table) {
    table.op("abs(x)")
        .doc("|x|. Its derivative at 0 is 0.")
        .math([](Expr x) { return scalar::abs(x); })
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}}, Fill::distinct)
        .like("torch.abs");

    table.op("sign(x)")
        .doc("-1, 0 or 1; NaN stays NaN. Its derivative is 0 everywhere.")
        .math([](Expr x) { return scalar::sign(x); })
        .slope(0, [](Expr) { return Expr(0.0); })
        .recompute(Recompute::cheap)
        .samples({Shape{3, 4}, Shape{}, Shape{0, 2}, Shape{2, 1, 5}}, Fill::distinct)
        .like("torch.sign");

    binary_samples(
        table.op("maximum(a, b)")
            .doc("The larger; NaN if either is. The gradient goes to the larger, half to each where they are equal.")
            .math([](Expr a, Expr b) { return scalar::maximum(a, b); })
            .slope(0, [](Expr a, Expr b) { return share(a > b, a == b); })
            .slope(1, [](Expr a, Expr b) { return share(b > a, a == b); })
            .recompute(Recompute::cheap)
            .like("torch.maximum"),
        normal, normal);

    binary_samples(
        table.op("minimum(a, b)")
            .doc("The smaller; NaN if either is. The gradient goes to the smaller, half to each where they are equal.")
            .math([](Expr a, Expr b) { return scalar::minimum(a, b); })
            .slope(0, [](Expr a, Expr b) { return share(a < b, a == b); })
            .slope(1, [](Expr a, Expr b) { return share(b < a, a == b); })
            .recompute(Recompute::cheap)
            .like("torch.minimum"),
        normal, normal);

    table.op("clamp(x, min: real, max: real)")
        .doc(
            "x within [min, max]; max where min > max; NaN stays NaN. An infinite bound is none. Passes the gradient "
            "between the bounds; at a bound it is 0, as relu's at 0.")
        .math([](Expr x, Expr low, Expr high) { return scalar::min(high, scalar::max(low, x)); })
        .slope(0,
               [](Expr x, Expr low, Expr high) {
                   return scalar::as_number((x > low || low == -HUGE_VAL) && (x < high || high == HUGE_VAL));
               })
        .recompute(Recompute::cheap)
        .sample({distinct({3, 4})}, {{"min", -0.55}, {"max", 0.65}})
        .sample({distinct({})}, {{"min", -10.0}, {"max", 10.0}})
        .sample({distinct({0, 2})}, {{"min", 0.0}, {"max", 1.0}})
        .sample({distinct({7})}, {{"min", 0.25}, {"max", HUGE_VAL}})
        .like("torch.clamp");

    table.op("where(condition, a, b)")
        .doc(
            "a where the condition is true (or not 0), b elsewhere. The other operand leaves no trace, not even a NaN.")
        .math([](Expr condition, Expr a, Expr b) { return scalar::select(scalar::as_mask(condition), a, b); })
        .recompute(Recompute::cheap)
        .sample({boolean({3, 4}), normal({3, 4}), normal({3, 4})})
        .sample({boolean({3, 1}), normal({4}), normal({3, 4})})
        .sample({boolean({4}), normal({}), normal({2, 4})})
        .sample({boolean({}), normal({}), normal({})})
        .sample({boolean({0, 2}), normal({0, 2}), normal({2})})
        .error({boolean({3}), normal({4}), normal({4})}, {}, "[3]")
        .like("torch.where");
}

}  // namespace

void register_arithmetic(Table& table) {
    register_sums_and_products(table);
    register_powers(table);
    register_choices(table);
}

}  // namespace tenon::ops
