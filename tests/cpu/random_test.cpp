#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/core/random.h"
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
using ops::to_vector;
using sweep::bits;

constexpr int64_t key = 0x0123456789abcdef;

class RandomOps : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

template <typename Check>
void on_every_set(Check check) {
    for (const auto set : sweep::sets()) {
        const cpu::ForcedInstructionSet forced(set);
        SCOPED_TRACE(std::string(cpu::name(set)));
        check();
    }
}

template <typename Make>
void expect_reference(const char* op, Make make) {
    std::vector<uint64_t> expected;
    {
        const ForceProvider forced(op, "reference");
        expected = bits(make());
    }
    on_every_set([&] { EXPECT_EQ(bits(make()), expected); });
}

TEST_F(RandomOps, EveryInstructionSetGivesTheReferencesBits) {
    for (const int64_t count : {1, 4, 255, 256, 257, 4096, 9001}) {
        expect_reference("rand_keyed", [&] { return ops::rand_keyed({count}, key, 5, 6); });
        expect_reference("randn_keyed", [&] { return ops::randn_keyed({count}, 0.5, 0.02, key, 5, 6); });
        const Tensor x = ops::randn_keyed({count}, 0, 1, 3, 0, 0);
        expect_reference("dropout_keyed", [&] { return ops::dropout_keyed(x, 0.3, key, 5, 6); });
    }
}

TEST_F(RandomOps, AnElementDependsOnItsIndexAlone) {
    const std::vector<float> whole = to_vector<float>(ops::rand_keyed({10000}, key, 1, 2));
    const std::vector<float> start = to_vector<float>(ops::rand_keyed({77}, key, 1, 2));
    EXPECT_TRUE(std::equal(start.begin(), start.end(), whole.begin()));
    for (const int64_t i : {0, 1, 2, 3, 4, 255, 256, 9999}) {
        const Draw draw{static_cast<uint64_t>(key), 1, 2};
        EXPECT_EQ(whole[static_cast<size_t>(i)], uniform_from(random_word(draw, i)));
    }
    const int before = cpu::threads();
    for (const int threads : {1, 2, 3}) {
        cpu::set_threads(threads);
        EXPECT_EQ(bits(ops::rand_keyed({10000}, key, 1, 2)), bits(whole));
    }
    cpu::set_threads(before);
}

TEST_F(RandomOps, NormalsAreBoxAndMullerInDoublePrecision) {
    const std::vector<float> z = to_vector<float>(ops::randn_keyed({4000}, 0, 1, key, 0, 0));
    const Draw draw{static_cast<uint64_t>(key), 0, 0};
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < 4000; i += 2) {
        const double u = ((random_word(draw, i) >> 8) + 1) * 0x1p-24;
        const double angle = 2 * M_PI * (((random_word(draw, i + 1) >> 8) + 1) * 0x1p-24);
        const double r = std::sqrt(-2 * std::log(u));
        EXPECT_NEAR(z[static_cast<size_t>(i)], r * std::cos(angle), 4e-6);
        EXPECT_NEAR(z[static_cast<size_t>(i + 1)], r * std::sin(angle), 4e-6);
        sum += z[static_cast<size_t>(i)] + z[static_cast<size_t>(i + 1)];
        squares += r * r;
    }
    EXPECT_NEAR(sum / 4000, 0, 0.05);
    EXPECT_NEAR(squares / 4000, 1, 0.07);
}

TEST_F(RandomOps, IntegersFollowTheFormulaAndStayInRange) {
    const std::vector<int64_t> values = to_vector<int64_t>(ops::randint_keyed(-3, 10, {5000}, key, 0, 0));
    const Draw draw{static_cast<uint64_t>(key), 0, 0};
    for (int64_t i = 0; i < 5000; ++i) {
        EXPECT_EQ(values[static_cast<size_t>(i)], -3 + static_cast<int64_t>(uint64_t{random_word(draw, i)} * 13 >> 32));
    }
    const std::vector<int64_t> wide = to_vector<int64_t>(ops::randint_keyed(0, int64_t{1} << 32, {8}, key, 0, 0));
    EXPECT_EQ(wide[3], random_word(draw, 3));
}

TEST_F(RandomOps, DropoutKeepsTheExpectedShareAndScale) {
    const Tensor x = ops::ones({100000});
    const std::vector<float> y = to_vector<float>(ops::dropout_keyed(x, 0.25, key, 0, 0));
    int64_t kept = 0;
    for (const float value : y) {
        EXPECT_TRUE(value == 0.0F || value == static_cast<float>(1 / 0.75));
        kept += value != 0 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(kept) / 100000, 0.75, 0.01);
    for (const float value : to_vector<float>(ops::dropout_keyed(x, 1.0, key, 0, 0))) EXPECT_EQ(value, 0.0F);
    EXPECT_EQ(bits(ops::dropout_keyed(x, 0.0, key, 0, 0)), bits(x));
}

TEST_F(RandomOps, AWordAtTheThresholdIsKept) {
    const Tensor x = ops::ones({300});
    on_every_set([&] {
        for (const size_t at : {size_t{0}, size_t{5}, size_t{260}}) {
            const uint32_t word = random_word({static_cast<uint64_t>(key), 1, 1}, static_cast<int64_t>(at));
            // p 2^32 is the word itself, and the one above it.
            EXPECT_NE(to_vector<float>(ops::dropout_keyed(x, word * 0x1p-32, key, 1, 1))[at], 0);
            EXPECT_EQ(to_vector<float>(ops::dropout_keyed(x, (word + 1.0) * 0x1p-32, key, 1, 1))[at], 0);
        }
    });
}

TEST_F(RandomOps, DropoutCountsElementsInLogicalOrder) {
    const Tensor x = ops::randn_keyed({30, 50}, 0, 1, 9, 0, 0);
    const Tensor view = ops::transpose(x);
    EXPECT_EQ(bits(ops::dropout_keyed(view, 0.5, key, 1, 1)),
              bits(ops::dropout_keyed(ops::clone(view), 0.5, key, 1, 1)));
}

TEST_F(RandomOps, DropoutInSixteenBitsHasTheSameMask) {
    const Tensor x = ops::full({1000}, 1.0, DType::bf16);
    std::vector<uint16_t> halves(1000);
    ops::copy_to_host(ops::dropout_keyed(x, 0.5, key, 1, 1), halves.data());
    const std::vector<float> y = to_vector<float>(ops::dropout_keyed(ops::ones({1000}), 0.5, key, 1, 1));
    for (size_t i = 0; i < 1000; ++i) EXPECT_EQ(halves[i], y[i] == 0 ? 0 : 0x4000);
}

TEST_F(RandomOps, InsideAPassDrawsRepeatOutsideTheyAdvance) {
    std::vector<std::vector<uint64_t>> seen;
    for (int i = 0; i < 2; ++i) {
        const Pass pass(1, 2, 3);
        const ModulePath path("layers.0");
        seen.push_back(bits(ops::rand({5})));
        seen.push_back(bits(ops::rand({5})));
    }
    EXPECT_EQ(seen[0], seen[2]);
    EXPECT_EQ(seen[1], seen[3]);
    EXPECT_NE(seen[0], seen[1]);
    set_generator_state({7, 0});
    const std::vector<uint64_t> first = bits(ops::randn({5}));
    EXPECT_NE(bits(ops::randn({5})), first);
    set_generator_state({7, 0});
    EXPECT_EQ(bits(ops::randn({5})), first);
}

TEST_F(RandomOps, OutsideTrainingDropoutIsItsInput) {
    const Tensor x = ops::ones({3});
    EXPECT_TRUE(ops::dropout(x, 0.5, false).same_as(x));
    EXPECT_TRUE(ops::dropout(x, 0.0, true).same_as(x));
    EXPECT_THROW(ops::dropout(x, 1.5, true), Error);
}

TEST_F(RandomOps, SixteenBitUniformsStayBelowOne) {
    for (const auto& [dtype, below] : {std::pair{DType::bf16, 1 - 0x1p-8F}, std::pair{DType::f16, 1 - 0x1p-11F}}) {
        const Tensor x = ops::cast(ops::rand_keyed({1 << 16}, 7, 0, 0, dtype), DType::f32);
        EXPECT_EQ(ops::item(ops::amax(x)), below);
        EXPECT_NEAR(ops::item(ops::mean(x)), below / 2, 5e-3);
    }
}

}  // namespace

}  // namespace tenon
