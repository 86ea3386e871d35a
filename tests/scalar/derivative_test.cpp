#include "tenon/scalar/derivative.h"

#include <gtest/gtest.h>

#include "tenon/scalar/formulas.h"
#include "tests/scalar/functions64.h"

namespace tenon::scalar {
namespace {

struct Case {
    const char* name;
    Expr math;
    std::vector<double> at;
};

std::vector<Case> one_input_cases() {
    const Expr x = input(0);
    const std::vector<double> anywhere = {-2.3, -0.7, -0.1, 0.2, 0.9, 1.7, 3.1}, above = {0.1, 0.6, 1.3, 4.2};
    return {{"polynomial", x * x * x - 2.0 * x + 1.0, anywhere},
            {"quotient", (x + 3.0) / (x * x + 1.0), anywhere},
            {"fma", fma(x, x, x * 2.0), anywhere},
            {"reciprocal", reciprocal(x), anywhere},
            {"sqrt", sqrt(x), above},
            {"rsqrt", rsqrt(x), above},
            {"abs", abs(x), anywhere},
            {"exp", exp(2.0 * x), anywhere},
            {"log", log(x), above},
            {"sin", sin(x * x), anywhere},
            {"cos", cos(3.0 * x), anywhere},
            {"tanh", tanh(x), anywhere},
            {"erf", erf(x), anywhere},
            {"sigmoid", sigmoid(x), anywhere},
            {"silu", silu(x), anywhere},
            {"gelu", gelu(x), anywhere},
            {"gelu_tanh", gelu_tanh(x), anywhere},
            {"relu", relu(x), anywhere},
            {"select", select(x > 1.0, x * x, -x), anywhere},
            {"pow base", pow(x, 2.7), above},
            {"pow exponent", pow(1.7, x), anywhere},
            {"pow both", pow(x, x), above}};
}

double value(Expr e, double x) {
    return Evaluator(e).f64(&x, nullptr, libm());
}

TEST(Derivative, AgreesWithCentralDifferences) {
    for (const Case& c : one_input_cases()) {
        const Expr slope = derivative(c.math, 0);
        for (const double x : c.at) {
            const double h = 1e-6, expected = (value(c.math, x + h) - value(c.math, x - h)) / (2 * h);
            EXPECT_NEAR(value(slope, x), expected, 1e-8 * (1 + std::fabs(expected))) << c.name << " at " << x;
        }
    }
}

TEST(Derivative, SecondDerivativesAgreeToo) {
    for (const Case& c : one_input_cases()) {
        const Expr slope = derivative(c.math, 0), curve = derivative(slope, 0);
        for (const double x : c.at) {
            const double h = 1e-6, expected = (value(slope, x + h) - value(slope, x - h)) / (2 * h);
            EXPECT_NEAR(value(curve, x), expected, 1e-7 * (1 + std::fabs(expected))) << c.name << " at " << x;
        }
    }
}

TEST(Derivative, OfEachOperandOfSeveral) {
    const Expr a = input(0), b = input(1), math = a * exp(b) / (a + b);
    const double at[2] = {0.7, 1.9}, h = 1e-6;
    for (int i = 0; i < 2; ++i) {
        double up[2] = {at[0], at[1]}, down[2] = {at[0], at[1]};
        up[i] += h;
        down[i] -= h;
        const Evaluator e(math);
        const double expected = (e.f64(up, nullptr, libm()) - e.f64(down, nullptr, libm())) / (2 * h);
        EXPECT_NEAR(Evaluator(derivative(math, i)).f64(at, nullptr, libm()), expected, 1e-8);
    }
}

TEST(Derivative, OfWhatDoesNotDependIsZero) {
    EXPECT_TRUE(derivative(exp(input(1)), 0).same(Expr(0.0)));
    EXPECT_TRUE(derivative(floor(input(0)), 0).same(Expr(0.0)));
}

TEST(Derivative, ConventionsAtTheJumps) {
    const double zero = 0;
    EXPECT_EQ(value(derivative(abs(input(0)), 0), zero), 0);
    EXPECT_EQ(value(derivative(pow(input(0), 0.0), 0), zero), 0);
    EXPECT_EQ(value(derivative(pow(input(0), 2.0), 0), zero), 0);
}

TEST(Derivative, OfSigmoidStaysFiniteWhereTheExponentialOverflows) {
    for (const float x : {-1e4f, -100.0f, 100.0f, 1e4f}) {
        const float slope = Evaluator(derivative(sigmoid(input(0)), 0)).f32(&x, nullptr);
        EXPECT_EQ(slope, 0) << x;
        const float silu_slope = Evaluator(derivative(silu(input(0)), 0)).f32(&x, nullptr);
        EXPECT_EQ(silu_slope, x > 0 ? 1 : 0) << x;
    }
}

}  // namespace
}  // namespace tenon::scalar
