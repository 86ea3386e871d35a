#include "tenon/data/order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::data {

RC_GTEST_PROP(Order, EveryEpochIsEverySampleOnce, ()) {
    auto samples = *rc::gen::inRange<int64_t>(1, 3000);
    auto epoch = *rc::gen::inRange<int64_t>(0, 1'000'000);
    Order order(*rc::gen::arbitrary<uint64_t>(), samples);
    std::vector<bool> seen(static_cast<size_t>(samples));
    for (int64_t i = 0; i < samples; ++i) {
        int64_t sample = order.at(epoch * samples + i);
        RC_ASSERT(sample >= 0 && sample < samples);
        RC_ASSERT(!seen[static_cast<size_t>(sample)]);
        seen[static_cast<size_t>(sample)] = true;
    }
}

TEST(Order, EverySizeUpToThreeHundredIsAPermutation) {
    for (int64_t samples = 1; samples <= 300; ++samples) {
        Order order(5, samples);
        std::set<int64_t> seen;
        for (int64_t i = 0; i < samples; ++i) seen.insert(order.at(i));
        EXPECT_EQ(static_cast<int64_t>(seen.size()), samples);
        EXPECT_EQ(*seen.rbegin(), samples - 1);
    }
}

TEST(Order, IsTheOneOfTheDefinitionInPython) {
    std::ifstream file(TENON_GOLDEN_DIR "/data/order.txt");
    int lines = 0;
    for (std::string line; std::getline(file, line); ++lines) {
        std::istringstream fields(line);
        uint64_t seed = 0;
        int64_t samples = 0, place = 0, expected = 0;
        fields >> seed >> samples >> place;
        Order order(seed, samples);
        while (fields >> expected) EXPECT_EQ(order.at(place++), expected) << line;
    }
    EXPECT_EQ(lines, 12);
}

TEST(Order, SeedAndEpochChangeIt) {
    auto row = [](uint64_t seed, int64_t epoch) {
        Order order(seed, 1000);
        std::vector<int64_t> all;
        for (int64_t i = 0; i < 1000; ++i) all.push_back(order.at(epoch * 1000 + i));
        return all;
    };
    EXPECT_EQ(row(1, 0), row(1, 0));
    EXPECT_NE(row(1, 0), row(2, 0));
    EXPECT_NE(row(1, 0), row(1, 1));
    int stay = 0;
    for (int64_t i = 0; i < 1000; ++i) stay += row(1, 0)[static_cast<size_t>(i)] == i;
    EXPECT_LT(stay, 12);  // 1 is expected
}

// Over 6,000 epochs each of 6 samples stands at each of 6 places 1,000 times: chi-square of 25 degrees of freedom,
// above 60 with a probability of 1e-4. The epochs are fixed, so the outcome is too.
TEST(Order, EverySampleIsAsLikelyAtEveryPlace) {
    Order order(11, 6);
    double counts[6][6] = {};
    for (int64_t i = 0; i < 36'000; ++i) ++counts[i % 6][order.at(i)];
    double chi = 0;
    for (auto& row : counts)
        for (double count : row) chi += (count - 1000) * (count - 1000) / 1000;
    EXPECT_LT(chi, 60);
    EXPECT_GT(chi, 5);
}

TEST(Order, RefusesNoSamplesAndPlacesBeforeTheFirst) {
    EXPECT_THROW(Order(1, 0), Error);
    EXPECT_THROW(Order(1, -3), Error);
    EXPECT_THROW(Order(1, 3).at(-1), Error);
}

}  // namespace tenon::data
