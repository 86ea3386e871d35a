#include "tenon/serve/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tenon/core/random.h"

namespace tenon::tests {

namespace {

const std::vector<float> logits = {0.5F, -1, 2, 0, 1.25F, 2, -3, 0.75F};

// By definition: the first token, from the most likely on, at which the cumulated probability passes the uniform.
int64_t by_definition(uint64_t seed, int64_t position) {
    const std::vector<int64_t> likeliest_first = {2, 5, 4, 7, 0, 3, 1, 6};
    double total = 0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit));
    const double uniform = (random_word({stream_key(seed, "sampling"), 0, 0}, position) >> 8) * 0x1p-24;
    double passed = 0;
    for (const int64_t id : likeliest_first) {
        passed += std::exp(static_cast<double>(logits[static_cast<size_t>(id)])) / total;
        if (uniform < passed) return id;
    }
    return likeliest_first.back();
}

TEST(Sampling, TheSeedAndThePositionDecideAlone) {
    for (const uint64_t seed : {0U, 1U, 77U}) {
        const serve::SamplingOptions options{.seed = seed};
        // Twice, and backwards: no draw depends on those before it.
        for (int64_t position = 0; position < 200; ++position) {
            EXPECT_EQ(serve::sample_token(logits, options, position), by_definition(seed, position));
        }
        for (int64_t position = 199; position >= 0; --position) {
            EXPECT_EQ(serve::sample_token(logits, options, position), by_definition(seed, position));
        }
    }
}

TEST(Sampling, WithoutTemperatureTheFirstOfTheGreatestIsTaken) {
    EXPECT_EQ(serve::sample_token(logits, {.temperature = 0}, 5), 2);
}

TEST(Sampling, TopKAndTopPKeepTheLikeliest) {
    for (int64_t position = 0; position < 100; ++position) {
        const int64_t of_two = serve::sample_token(logits, {.top_k = 2}, position);
        EXPECT_TRUE(of_two == 2 || of_two == 5) << of_two;
        // Each of the two greatest has a probability of about 0.3.
        EXPECT_EQ(serve::sample_token(logits, {.top_p = 0.25}, position), 2);
    }
}

}  // namespace

}  // namespace tenon::tests
