#include "tenon/serve/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tenon/core/random.h"
#include "tests/base/thrown.h"

namespace tenon::tests {

namespace {

using serve::sample_token;
using serve::SamplingOptions;

constexpr float infinity = std::numeric_limits<float>::infinity();

// Token 3 twice as likely as 0, two equal ones (1 and 4), a rare one and an impossible one.
const std::vector<float> logits = {1.0F, 0.25F, -2.0F, 1.0F + 0.6931472F, 0.25F, -infinity, -0.5F, 0.0F};

// softmax(logits / temperature) in f64.
std::vector<double> probabilities(double temperature) {
    std::vector<double> p;
    for (const float logit : logits) p.push_back(std::exp(static_cast<double>(logit) / temperature));
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& each : p) each /= total;
    return p;
}

// Ids by falling probability, the lower of equals first.
std::vector<size_t> likeliest_first(const std::vector<double>& p) {
    std::vector<size_t> ids(p.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
    return ids;
}

// What is left of the probabilities: the k likeliest (all where k is 0), of these the fewest that reach the share p.
std::vector<double> kept(const SamplingOptions& options) {
    const std::vector<double> p = probabilities(options.temperature);
    std::vector<size_t> ids = likeliest_first(p);
    if (options.top_k > 0) ids.resize(std::min(ids.size(), static_cast<size_t>(options.top_k)));
    double whole = 0;
    for (const size_t id : ids) whole += p[id];
    std::vector<double> left(p.size(), 0.0);
    double sum = 0;
    for (const size_t id : ids) {
        if (sum >= options.top_p * whole) break;
        left[id] = p[id];
        sum += p[id];
    }
    for (double& each : left) each /= sum;
    return left;
}

std::vector<int64_t> draws(const SamplingOptions& options, int64_t count) {
    std::vector<int64_t> tokens;
    for (int64_t position = 0; position < count; ++position) {
        tokens.push_back(sample_token(logits, options, position));
    }
    return tokens;
}

TEST(Sampling, AtTemperatureZeroTheFirstOfTheLikeliestIsTaken) {
    const std::vector<float> ties = {-1, 3, 2, 3, 3, -infinity};
    for (const uint64_t seed : {0, 1, 2}) {
        for (int64_t position = 0; position < 50; ++position) {
            EXPECT_EQ(sample_token(ties, {.temperature = 0, .seed = seed}, position), 1);
            EXPECT_EQ(sample_token(ties, {.temperature = 0, .top_k = 3, .top_p = 0.5, .seed = seed}, position), 1);
        }
    }
    EXPECT_EQ(sample_token(std::vector<float>{-0.0F, 0.0F}, {.temperature = 0}, 7), 0);
}

TEST(Sampling, TopKKeepsTheLikeliestAndOfEqualsTheLowerId) {
    for (const int64_t k : {1, 2, 3, 4, 5, 8, 100}) {
        const SamplingOptions options{.temperature = 2, .top_k = k, .seed = 5};
        const std::vector<double> expected = kept(options);
        std::set<int64_t> allowed, seen;
        for (size_t id = 0; id < expected.size(); ++id) {
            if (expected[id] > 0) allowed.insert(static_cast<int64_t>(id));
        }
        for (const int64_t token : draws(options, 2000)) seen.insert(token);
        EXPECT_EQ(seen, allowed) << "k " << k;
    }
}

TEST(Sampling, TopPKeepsTheFewestThatReachTheShare) {
    for (const double temperature : {1.0, 2.0}) {
        const std::vector<double> p = probabilities(temperature);
        const std::vector<size_t> ids = likeliest_first(p);
        std::set<int64_t> allowed;
        double reached = 0;
        for (size_t n = 0; n + 2 < ids.size(); ++n) {
            // Shares just below the sum of n + 1 of them, and just above that of n.
            const double before = reached;
            reached += p[ids[n]];
            allowed.insert(static_cast<int64_t>(ids[n]));
            for (const double share : {before + 1e-9, reached - 1e-9}) {
                std::set<int64_t> seen;
                for (const int64_t token : draws({.temperature = temperature, .top_p = share, .seed = 6}, 2000)) {
                    seen.insert(token);
                }
                EXPECT_EQ(seen, allowed) << "share " << share << ", temperature " << temperature;
            }
        }
    }
}

// Pearson's statistic of the counts has as many degrees of freedom as tokens can come, less one.
double chi_square(const std::vector<int64_t>& tokens, const std::vector<double>& p) {
    std::vector<double> counts(p.size(), 0.0);
    for (const int64_t token : tokens) counts[static_cast<size_t>(token)] += 1;
    double sum = 0;
    for (size_t id = 0; id < p.size(); ++id) {
        const double expected = p[id] * static_cast<double>(tokens.size());
        if (expected == 0) {
            EXPECT_EQ(counts[id], 0) << "token " << id << " cannot come";
            continue;
        }
        sum += (counts[id] - expected) * (counts[id] - expected) / expected;
    }
    return sum;
}

TEST(Sampling, TokensComeAsOftenAsTheirProbabilitySays) {
    // Quantiles of chi-square at 0.999 by degrees of freedom, from 1.
    const double bounds[] = {10.83, 13.82, 16.27, 18.47, 20.52, 22.46};
    for (const SamplingOptions& options :
         std::vector<SamplingOptions>{{.seed = 1},
                                      {.temperature = 0.7, .seed = 2},
                                      {.temperature = 3, .seed = 3},
                                      {.top_k = 4, .seed = 4},
                                      {.top_p = 0.8, .seed = 5},
                                      {.temperature = 2, .top_k = 5, .top_p = 0.7, .seed = 6}}) {
        const std::vector<double> p = kept(options);
        const auto possible = p.size() - static_cast<size_t>(std::count(p.begin(), p.end(), 0.0));
        ASSERT_GE(possible, 2U);
        const double statistic = chi_square(draws(options, 20000), p);
        EXPECT_LT(statistic, bounds[possible - 2]) << "seed " << options.seed;
        // Draws that are too even come from no generator: the quantile at 0.001 of one degree is 1.6e-6.
        EXPECT_GT(statistic, 1e-6) << "seed " << options.seed;
    }
}

// The first token, from the likeliest on, at which the sum of probabilities passes the position's own uniform number.
int64_t by_definition(uint64_t seed, int64_t position) {
    const std::vector<double> p = probabilities(1);
    const double uniform = (random_word({stream_key(seed, "sampling"), 0, 0}, position) >> 8) * 0x1p-24;
    double passed = 0;
    for (const size_t id : likeliest_first(p)) {
        passed += p[id];
        if (uniform < passed) return static_cast<int64_t>(id);
    }
    return -1;
}

TEST(Sampling, TheSeedAndThePositionDecideAlone) {
    for (const uint64_t seed : {0U, 1U, 77U}) {
        const SamplingOptions options{.seed = seed};
        // Twice, and backwards with another conversation between: no draw depends on those before it.
        for (int64_t position = 0; position < 200; ++position) {
            EXPECT_EQ(sample_token(logits, options, position), by_definition(seed, position));
        }
        for (int64_t position = 199; position >= 0; --position) {
            sample_token(logits, {.seed = 5}, position);
            EXPECT_EQ(sample_token(logits, options, position), by_definition(seed, position));
        }
    }
}

TEST(Sampling, AnotherSeedOrPositionDrawsAnew) {
    const std::vector<int64_t> once = draws({.temperature = 2, .seed = 9}, 20000);
    EXPECT_NE(draws({.temperature = 2, .seed = 10}, 20000), once);
    // Neighbours in position are equal as often as squares of the probabilities say.
    double expected = 0;
    for (const double p : probabilities(2)) expected += p * p;
    double equal = 0;
    for (size_t i = 1; i < once.size(); ++i) equal += once[i] == once[i - 1] ? 1 : 0;
    EXPECT_NEAR(equal / 19999, expected, 0.02);
}

TEST(Sampling, LogitsThatMeanNothingAreErrors) {
    const float nan = std::nanf("");
    const std::map<std::string, std::vector<float>> cases = {
        {"a NaN", {0, nan, 1}},
        {"one infinite", {0, infinity, 1}},
        {"two infinite", {infinity, infinity, 1}},
        {"all impossible", {-infinity, -infinity, -infinity}},
    };
    for (const auto& [what, row] : cases) {
        for (const double temperature : {0.0, 1.0}) {
            const std::string message = thrown([&, &row = row] { sample_token(row, {.temperature = temperature}, 0); });
            EXPECT_NE(message, "") << what << ", temperature " << temperature;
            if (what == "a NaN") {
                EXPECT_NE(message.find("NaN"), std::string::npos) << message;
            }
        }
    }
}

TEST(Sampling, OptionsOutOfRangeAreNamed) {
    const auto message = [](const SamplingOptions& options) { return thrown([&] { serve::check_sampling(options); }); };
    EXPECT_EQ(message({}), "");
    for (const double temperature : {-0.1, std::nan("")}) {
        EXPECT_NE(message({.temperature = temperature}).find("temperature"), std::string::npos) << temperature;
    }
    EXPECT_NE(message({.top_k = -1}).find("top-k"), std::string::npos);
    for (const double p : {0.0, -0.5, 1.1, std::nan("")}) {
        EXPECT_NE(message({.top_p = p}).find("top-p"), std::string::npos) << p;
    }
}

TEST(Sampling, NoLogitsAreAnError) {
    EXPECT_THROW(sample_token({}, {}, 0), Error);
}

}  // namespace

}  // namespace tenon::tests
