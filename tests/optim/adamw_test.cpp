#include "tenon/optim/adamw.h"

#include <gtest/gtest.h>

#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"

namespace tenon::tests {

namespace {

TEST(AdamW, WithoutAGradientOnlyWhatDecaysChanges) {
    cpu::register_kernels();
    const Tensor matrix = ops::ones({3, 5}), bias = ops::ones({5});
    optim::AdamW optimizer({{"matrix", matrix, {}, true}, {"bias", bias, {}, false}}, {.weight_decay = 0.5});
    optimizer.step({ops::zeros({3, 5}), ops::zeros({5})}, 0.125, 1);
    EXPECT_EQ(ops::to_vector<float>(matrix), std::vector<float>(15, 1 - 0.125F * 0.5F));
    EXPECT_EQ(ops::to_vector<float>(bias), std::vector<float>(5, 1));
}

}  // namespace

}  // namespace tenon::tests
