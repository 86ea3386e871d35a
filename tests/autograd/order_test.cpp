// Gradients meet in sequence order, each once (docs/numerics.md, Gradients).
#include <gtest/gtest.h>

#include <vector>

#include "tenon/autograd/autograd.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/operators.h"

namespace tenon::tests {

namespace {

class FixedOrder : public testing::Test {
protected:
    static void SetUpTestSuite() {
        cpu::register_kernels();
        autograd::register_autograd();
    }
};

Tensor leaf(double value) {
    Tensor x = ops::full({}, value);
    x.set_requires_grad(true);
    return x;
}

// Their f32 sum depends on the order.
std::vector<float> factors() {
    std::vector<float> all;
    for (int i = 0; i < 24; ++i) all.push_back((i % 3 == 0 ? 1e7F : 1.0F) * (1.0F + static_cast<float>(i) / 7));
    return all;
}

TEST_F(FixedOrder, TheLatestUseComesFirst) {
    const std::vector<float> all = factors();
    float latest_first = 0, earliest_first = 0;
    for (size_t i = 0; i < all.size(); ++i) {
        latest_first += all[all.size() - 1 - i];
        earliest_first += all[i];
    }
    ASSERT_NE(latest_first, earliest_first);

    const Tensor x = leaf(1);
    Tensor total = ops::full({}, 0);
    for (const float factor : all) total = total + x * ops::full({}, factor);
    autograd::backward(total);
    EXPECT_EQ(static_cast<float>(ops::item(autograd::grad_of(x))), latest_first);
}

TEST_F(FixedOrder, EachOfManyInputsGetsItsGradient) {
    std::vector<Tensor> parts(100, ops::full({1}, 1));
    parts[64] = ops::full({1}, 2);
    parts[64].set_requires_grad(true);  // input 0 needs none
    autograd::backward(ops::sum(ops::cat(parts) * ops::full({}, 3)));
    EXPECT_EQ(ops::item(autograd::grad_of(parts[64])), 3);
    EXPECT_FALSE(autograd::grad_of(parts[0]).defined());
}

TEST_F(FixedOrder, ANodeIsVisitedOnceAfterAllItsUses) {
    const Tensor x = leaf(3);
    int visits = 0;
    Tensor y = x;
    // Each step doubles the number of paths, one of which is longer: 2^20 of them, and 80 nodes.
    for (int i = 0; i < 20; ++i) {
        y = y * ops::full({}, 0.5);
        autograd::add_hook(y, [&](const Tensor&) {
            ++visits;
            return Tensor();
        });
        y = y + ops::neg(ops::neg(y));
    }
    autograd::backward(y);
    EXPECT_EQ(visits, 20);
    EXPECT_EQ(ops::item(autograd::grad_of(x)), 1);
}

}  // namespace

}  // namespace tenon::tests
