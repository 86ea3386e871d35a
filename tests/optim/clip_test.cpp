#include "tenon/optim/clip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"

namespace tenon::tests {

namespace {

using Named = std::vector<std::pair<std::string, Tensor>>;

// One element each. The first square is so great that a later one alone is lost in f64; all of them together are not.
Named gradients() {
    Named all;
    for (int i = 0; i < 40; ++i) all.emplace_back("p" + std::to_string(100 + i), ops::full({}, i == 0 ? 1e8 : 0.9));
    return all;
}

double chain(const Named& named) {
    double sum = 0;
    for (const auto& [name, tensor] : named) {
        const auto value = static_cast<float>(ops::item(tensor));
        sum += value * value;
    }
    return std::sqrt(sum);
}

TEST(Clip, TheNormIsAChainInOrderOfNames) {
    cpu::register_kernels();
    const Named ascending = gradients();
    Named turned(ascending.rbegin(), ascending.rend()), rotated = ascending;
    std::rotate(rotated.begin(), rotated.begin() + 13, rotated.end());
    ASSERT_NE(chain(turned), chain(ascending));
    for (const Named& named : {ascending, turned, rotated}) EXPECT_EQ(optim::global_norm(named), chain(ascending));
}

TEST(Clip, TheNormsChainIsInF64) {
    cpu::register_kernels();
    // In f32 2^24 + 1 is 2^24.
    Named named = {{"a", ops::full({}, 4096)}};
    for (const char* name : {"b", "c", "d"}) named.emplace_back(name, ops::ones({}));
    EXPECT_EQ(optim::global_norm(named), std::sqrt(0x1p24 + 3));
}

TEST(Clip, TheFactorNeverEnlarges) {
    EXPECT_EQ(optim::clip_factor(0.5, 1), 1);
    EXPECT_EQ(optim::clip_factor(4, 1), 1 / (4 + 1e-6));
    EXPECT_EQ(optim::clip_factor(4, 0), 1);
}

}  // namespace

}  // namespace tenon::tests
