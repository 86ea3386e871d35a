#include "tenon/serve/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/core/random.h"
#include "tenon/scalar/host.h"

namespace tenon::serve {

namespace {

// Token ids, most likely first; of equals the lower id first.
std::vector<int64_t> by_likelihood(std::span<const float> logits, int64_t keep) {
    std::vector<int64_t> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto likelier = [&](int64_t a, int64_t b) {
        const float la = logits[static_cast<size_t>(a)];
        const float lb = logits[static_cast<size_t>(b)];
        return la != lb ? la > lb : a < b;
    };
    std::partial_sort(ids.begin(), ids.begin() + keep, ids.end(), likelier);
    ids.resize(static_cast<size_t>(keep));
    return ids;
}

}  // namespace

void check_sampling(const SamplingOptions& options) {
    const auto refuse = [](const std::string& what) { throw Error(Code::usage, "sampling", what); };
    if (!(options.temperature >= 0)) refuse("temperature must be at least 0");
    if (options.top_k < 0) refuse("top-k must be at least 0 (0 keeps all)");
    if (!(options.top_p > 0 && options.top_p <= 1)) refuse("top-p must lie in (0, 1]");
}

int64_t sample_token(std::span<const float> logits, const SamplingOptions& options, int64_t position) {
    for (const float logit : logits) {
        if (logit != logit) throw Error(Code::failed, "sampling", "a logit is NaN: the model's weights are damaged");
    }
    const auto count = static_cast<int64_t>(logits.size());
    if (count == 0) throw Error(Code::usage, "sampling", "there are no logits to draw from");
    const int64_t keep = options.top_k > 0 ? std::min(options.top_k, count) : count;
    const std::vector<int64_t> ids = by_likelihood(logits, options.temperature == 0 ? 1 : keep);
    const double highest = logits[static_cast<size_t>(ids[0])];
    if (!std::isfinite(highest)) {
        throw Error(Code::failed, "sampling",
                    "the greatest logit is " + std::to_string(highest) + ": the model's weights are damaged");
    }
    if (options.temperature == 0) return ids[0];

    std::vector<double> weights;
    double total = 0;
    for (const int64_t id : ids) {
        weights.push_back(scalar::host::exp((logits[static_cast<size_t>(id)] - highest) / options.temperature));
        total += weights.back();
    }
    double kept = 0;
    size_t end = 0;
    while (end < weights.size() && kept < options.top_p * total) kept += weights[end++];

    const Draw draw{stream_key(options.seed, "sampling"), 0, 0};
    const int64_t index = TENON_FAULT(sampling_by_turn) ? int64_t{next_draw("sampling").step} : position;
    double left = static_cast<double>(uniform_from(random_word(draw, index))) * kept;
    for (size_t i = 0; i < end; ++i) {
        left -= weights[i];
        if (left < 0) return ids[i];
    }
    return ids[end - 1];
}

}  // namespace tenon::serve
