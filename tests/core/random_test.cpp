#include "tenon/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {
namespace {

using Words = std::array<uint32_t, 4>;

// Random123 1.14, tests/kat_vectors, "philox4x32 10".
TEST(Philox, GivesThePublishedVectors) {
    EXPECT_EQ(philox(0, {0, 0, 0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
              (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
              (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Streams, KeyIsTheStartOfTheSha256OfSeedAndName) {
    // printf '\x2a\0\0\0\0\0\0\0default' | sha256sum
    EXPECT_EQ(stream_key(42, "default"), 0xdfc88ade7869ab36U);
    EXPECT_NE(stream_key(42, "default"), stream_key(43, "default"));
    EXPECT_NE(stream_key(42, "default"), stream_key(42, "Default"));
}

TEST(Streams, AnElementIsOneWordOfItsBlock) {
    const Draw draw{0x299f31d0a4093822, 7, 9};
    for (const int64_t i : {int64_t{0}, int64_t{5}, int64_t{1} << 34, (int64_t{1} << 35) + 3}) {
        const uint64_t block = static_cast<uint64_t>(i) / 4;
        const Words words = philox(draw.key, {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 7, 9});
        EXPECT_EQ(random_word(draw, i), words[static_cast<size_t>(i % 4)]);
    }
}

TEST(Streams, UniformsLieInTheUnitInterval) {
    EXPECT_EQ(uniform_from(0), 0.0F);
    EXPECT_EQ(uniform_from(0xff), 0.0F);
    EXPECT_EQ(uniform_from(0x100), 0x1p-24F);
    EXPECT_LT(uniform_from(0xffffffff), 1.0F);
}

TEST(Streams, DropoutThresholdIsRounded) {
    EXPECT_EQ(dropout_threshold(0), 0U);
    EXPECT_EQ(dropout_threshold(1), uint64_t{1} << 32);
    EXPECT_EQ(dropout_threshold(0.1), 429496730U);  // 429496729.6
    EXPECT_THROW(dropout_threshold(-0.1), Error);
    EXPECT_THROW(dropout_threshold(std::nan("")), Error);
}

bool same(const Draw& a, const Draw& b) {
    return a.key == b.key && a.step == b.step && a.leaf == b.leaf;
}

TEST(Passes, ADrawIsModulePathOpAndOrdinal) {
    const auto draws = [](uint32_t step) {
        const Pass pass(5, step, 1);
        std::vector<Draw> all;
        {
            const ModulePath layer("layers.0");
            const ModulePath attention("self_attn");
            EXPECT_EQ(ModulePath::current(), "layers.0.self_attn");
            all.push_back(next_draw("dropout"));
            all.push_back(next_draw("dropout"));
            all.push_back(next_draw("rand"));
        }
        EXPECT_EQ(ModulePath::current(), "");
        const ModulePath other("layers.1");
        all.push_back(next_draw("dropout"));
        return all;
    };
    const std::vector<Draw> first = draws(3);
    const std::vector<Draw> again = draws(3);
    std::set<uint64_t> keys;
    for (size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(same(first[i], again[i]));
        EXPECT_EQ(first[i].step, 3U);
        EXPECT_EQ(first[i].leaf, 1U);
        keys.insert(first[i].key);
    }
    EXPECT_EQ(keys.size(), first.size());
    EXPECT_EQ(first[1].key, stream_key(5, "layers.0.self_attn/dropout/1"));
    // Another step: the same streams at another counter.
    EXPECT_EQ(draws(4)[0].key, first[0].key);
}

TEST(Passes, OnlyOneIsOpenOnAThread) {
    const Pass pass(1, 0, 0);
    EXPECT_THROW(Pass(1, 0, 1), Error);
    bool opened = false;
    std::thread([&] {
        const Pass other(1, 0, 1);
        opened = true;
    }).join();
    EXPECT_TRUE(opened);
}

TEST(Passes, OutsideOneTheGeneratorCounts) {
    set_generator_state({11, 0});
    const Draw first = next_draw("rand");
    const Draw second = next_draw("dropout");
    EXPECT_EQ(first.key, stream_key(11, "default"));
    EXPECT_EQ(first.key, second.key);
    EXPECT_EQ(first.step, 0U);
    EXPECT_EQ(second.step, 1U);
    EXPECT_EQ(generator_state().ordinal, 2U);
    {
        const Pass pass(1, 0, 0);
        next_draw("rand");
    }
    EXPECT_EQ(generator_state().ordinal, 2U);
    set_generator_state({11, (uint64_t{1} << 32) + 6});
    const Draw late = next_draw("rand");
    EXPECT_EQ(late.step, 6U);
    EXPECT_EQ(late.leaf, 1U);
}

}  // namespace
}  // namespace tenon
