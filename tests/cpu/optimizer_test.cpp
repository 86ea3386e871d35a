#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/provider.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::ForceProvider;
using ops::from_values;
using ops::to_vector;
using sweep::bits;

class Optimizer : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

struct State {
    Tensor p, g, m, v;
};

// v is a square; everything else is normal.
State state_of(int64_t count) {
    const Tensor root = ops::randn_keyed({count}, 0, 0.01, 4, 0, 0);
    std::vector<float> squares = to_vector<float>(root);
    for (float& value : squares) value *= value;
    return {ops::randn_keyed({count}, 0, 1, 1, 0, 0), ops::randn_keyed({count}, 0, 0.1, 2, 0, 0),
            ops::randn_keyed({count}, 0, 0.01, 3, 0, 0), from_values(squares, {count})};
}

std::vector<float> after_steps(State state, int64_t steps) {
    for (int64_t t = 1; t <= steps; ++t) {
        ops::adamw(state.p, state.g, state.m, state.v, 3e-3, 0.9, 0.95, 1e-8, 0.1, t, 0.75);
    }
    std::vector<float> all = to_vector<float>(state.p);
    for (const Tensor& each : {state.m, state.v}) {
        const std::vector<float> values = to_vector<float>(each);
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

template <typename Make>
void expect_same_everywhere(const std::vector<uint64_t>& expected, Make make) {
    const int before = cpu::threads();
    for (const auto set : sweep::sets()) {
        const cpu::ForcedInstructionSet forced(set);
        for (const int threads : {1, 2, 3}) {
            cpu::set_threads(threads);
            EXPECT_EQ(make(), expected) << cpu::name(set) << ", " << threads << " threads";
        }
    }
    cpu::set_threads(before);
}

TEST_F(Optimizer, AdamWHasTheReferencesBitsOnEverySetAndThreadCount) {
    for (const int64_t count : {1, 15, 16, 17, 1000, 40001}) {
        std::vector<uint64_t> expected;
        {
            const ForceProvider forced("adamw", "reference");
            expected = bits(after_steps(state_of(count), 3));
        }
        expect_same_everywhere(expected, [&] { return bits(after_steps(state_of(count), 3)); });
    }
}

// The published rule (Loshchilov and Hutter 2019, algorithm 2), in f64.
TEST_F(Optimizer, AdamWFollowsThePublishedRule) {
    const int64_t count = 500;
    State state = state_of(count);
    std::vector<float> p = to_vector<float>(state.p);
    const std::vector<float> g = to_vector<float>(state.g);
    const std::vector<float> m0 = to_vector<float>(state.m);
    const std::vector<float> v0 = to_vector<float>(state.v);
    const std::vector<float> got = after_steps(state, 4);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        double x = p[i];
        double m = m0[i];
        double v = v0[i];
        for (int t = 1; t <= 4; ++t) {
            const double grad = 0.75 * g[i];
            m = 0.9 * m + 0.1 * grad;
            v = 0.95 * v + 0.05 * grad * grad;
            const double m_hat = m / (1 - std::pow(0.9, t));
            const double v_hat = v / (1 - std::pow(0.95, t));
            x = x - 3e-3 * 0.1 * x - 3e-3 * m_hat / (std::sqrt(v_hat) + 1e-8);
        }
        EXPECT_NEAR(got[i], x, 3e-7 * std::max(1.0, std::abs(x)));
    }
}

// What is made of the settings: f64, then one rounding each. The elements are so simple that each scalar shows.
TEST_F(Optimizer, AdamWsScalarsAreMadeInF64AndRoundOnce) {
    const double lr = 3e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
    double power1 = 1, power2 = 1;
    for (int64_t t = 1; t <= 5; ++t) {
        power1 *= beta1, power2 *= beta2;
        const auto m = static_cast<float>(1 - beta1), v = static_cast<float>(1 - beta2);
        const float root = std::sqrt(v) / static_cast<float>(std::sqrt(1 - power2)) + static_cast<float>(eps);
        const float move = static_cast<float>(lr / (1 - power1)) * (m / root);
        const std::vector<float> expected = {static_cast<float>(1 - lr * weight_decay) - move, m, v};
        for (const char* provider : {"lanes", "reference"}) {
            const ForceProvider forced("adamw", provider);
            expect_same_everywhere(bits(expected), [&] {
                const State one{ops::ones({1}), ops::ones({1}), ops::zeros({1}), ops::zeros({1})};
                ops::adamw(one.p, one.g, one.m, one.v, lr, beta1, beta2, eps, weight_decay, t, 1);
                return bits(std::vector<float>{to_vector<float>(one.p)[0], to_vector<float>(one.m)[0],
                                               to_vector<float>(one.v)[0]});
            });
        }
    }
}

TEST_F(Optimizer, AdamWTakesViewsAndDoubles) {
    const Tensor whole = ops::zeros({4, 3}, DType::f64);
    const Tensor p = ops::transpose(whole);
    const Tensor g = ops::full({3, 4}, 2.0, DType::f64);
    const Tensor m = ops::zeros({3, 4}, DType::f64);
    const Tensor v = ops::zeros({3, 4}, DType::f64);
    ops::adamw(p, g, m, v, 0.5, 0.9, 0.999, 0.0, 0.0, 1);
    // With zero moments the first step moves every element by lr against the gradient's sign.
    for (const double value : to_vector<double>(whole)) EXPECT_NEAR(value, -0.5, 1e-12);
    EXPECT_EQ(whole.storage().last_writer(), std::string("adamw"));
}

TEST_F(Optimizer, SumOfSquaresHasTheReferencesBitsAndIsClose) {
    for (const int64_t count : {0, 1, 17, 4096, 4097, 32768, 32769, 3 * 32768 + 5, 200001}) {
        const Tensor x = ops::randn_keyed({count}, 0, 1, 8, 0, 0);
        Tensor expected;
        {
            const ForceProvider forced("sum_of_squares", "reference");
            expected = ops::sum_of_squares(x);
        }
        expect_same_everywhere(bits(expected), [&] { return bits(ops::sum_of_squares(x)); });
        double exact = 0;
        for (const float value : to_vector<float>(x)) exact += double{value} * value;
        EXPECT_NEAR(ops::item(expected), exact, 1e-6 * exact);
    }
}

TEST_F(Optimizer, OneBadElementIsFoundAnywhere) {
    for (const int64_t at : {0, 15, 16383, 16384, 49999}) {
        std::vector<float> values(50000, std::numeric_limits<float>::max());
        EXPECT_TRUE(ops::item(ops::all_finite(from_values(values, {50000}))) == 1);
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
            values[static_cast<size_t>(at)] = bad;
            EXPECT_TRUE(ops::item(ops::all_finite(from_values(values, {50000}))) == 0);
        }
    }
    EXPECT_EQ(ops::item(ops::all_finite(ops::full({3}, 65504, DType::f16))), 1);
    EXPECT_EQ(ops::item(ops::all_finite(ops::full({3}, 70000, DType::f16))), 0);
    EXPECT_EQ(ops::item(ops::all_finite(ops::zeros({0}))), 1);
}

TEST_F(Optimizer, AParameterThatRequiresAGradientIsWrittenOnlyUnderNoGrad) {
    State state = state_of(4);
    state.p.set_requires_grad(true);
    EXPECT_THROW(ops::adamw(state.p, state.g, state.m, state.v, 0.1, 0.9, 0.9, 1e-8, 0, 1), Error);
    const ops::NoGrad guard;
    ops::adamw(state.p, state.g, state.m, state.v, 0.1, 0.9, 0.9, 1e-8, 0, 1);
}

}  // namespace
}  // namespace tenon
