#include "tenon/scalar/expr.h"

#include <gtest/gtest.h>

#include <limits>

#include "tenon/base/error.h"
#include "tenon/scalar/evaluate.h"
#include "tenon/scalar/formulas.h"

namespace tenon::scalar {
namespace {

TEST(Expr, EqualExpressionsAreOneNode) {
    const Expr x = input(0);
    EXPECT_TRUE((x * sigmoid(x)).same(x * sigmoid(x)));
    EXPECT_FALSE((x + 1.0).same(1.0 + x));
    EXPECT_FALSE(Expr(0.0).same(Expr(-0.0)));
}

TEST(Expr, SimplificationKeepsSignedZerosAndNaN) {
    const Expr x = input(0);
    EXPECT_TRUE((x * 1.0).same(x));
    EXPECT_TRUE((x - 0.0).same(x));
    EXPECT_TRUE((x + -0.0).same(x));
    EXPECT_TRUE((-(-x)).same(x));
    // Each of these would change a bit for some x.
    EXPECT_FALSE((x + 0.0).same(x));
    EXPECT_FALSE((x - -0.0).same(x));
    EXPECT_FALSE((x * 0.0).same(Expr(0.0)));
    EXPECT_FALSE((x - x).same(Expr(0.0)));
}

TEST(Expr, MasksAndNumbersDoNotMix) {
    const Expr x = input(0);
    EXPECT_THROW(x + (x < 1.0), Error);
    EXPECT_THROW(select(x, x, x), Error);
    EXPECT_THROW(!x, Error);
}

TEST(Expr, OrderPutsOperandsFirstAndEachOnce) {
    const Expr x = input(0), root = exp(x) * exp(x) + x;
    const auto order = topological_order(root);
    EXPECT_EQ(order.size(), 4u);
    for (size_t i = 0; i < order.size(); ++i) {
        for (int k = 0; k < operand_count(order[i]->kind); ++k) {
            EXPECT_LT(std::find(order.begin(), order.end(), order[i]->operands[k]) - order.begin(),
                      static_cast<long>(i));
        }
    }
}

TEST(Evaluator, ComputesIntegersExactly) {
    const int64_t big = (int64_t{1} << 53) + 1, inputs[2] = {big, 3};
    EXPECT_EQ(Evaluator(input(0) * input(1) - 1.0).i64(inputs, nullptr), big * 3 - 1);
    EXPECT_EQ(Evaluator(pow(input(1), 5.0)).i64(inputs, nullptr), 243);
    const int64_t least[1] = {std::numeric_limits<int64_t>::min()};
    EXPECT_EQ(Evaluator(abs(input(0))).i64(least, nullptr), least[0]);  // wraps, as PyTorch's
    EXPECT_THROW(Evaluator(exp(input(0))).i64(inputs, nullptr), Error);
}

TEST(Evaluator, ReadsAttributesByIndex) {
    const float x[1] = {2}, a[2] = {5, 0.5f};
    EXPECT_EQ(Evaluator(input(0) * attribute(0) + attribute(1)).f32(x, a), 10.5f);
}

TEST(Formulas, MaximumAndMinimumSpreadNaN) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Evaluator largest(maximum(input(0), input(1))), least(minimum(input(0), input(1)));
    for (const float other : {-1.0f, 0.0f, std::numeric_limits<float>::infinity()}) {
        const float left[2] = {nan, other}, right[2] = {other, nan};
        EXPECT_NE(largest.f32(left, nullptr), largest.f32(left, nullptr));
        EXPECT_NE(largest.f32(right, nullptr), largest.f32(right, nullptr));
        EXPECT_NE(least.f32(left, nullptr), least.f32(left, nullptr));
        EXPECT_NE(least.f32(right, nullptr), least.f32(right, nullptr));
    }
    const float values[2] = {3, -2};
    EXPECT_EQ(largest.f32(values, nullptr), 3);
    EXPECT_EQ(least.f32(values, nullptr), -2);
}

}  // namespace
}  // namespace tenon::scalar
