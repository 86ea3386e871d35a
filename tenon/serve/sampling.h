// One token from a row of logits.
#pragma once

#include <cstdint>
#include <span>

namespace tenon::serve {

struct SamplingOptions {
    double temperature = 1;  // 0: the most likely token (the first of equals)
    int64_t top_k = 0;       // keep the k most likely; 0: all
    double top_p = 1;        // keep the fewest most likely ones whose probability reaches p. Holtzman et al. 2020
    uint64_t seed = 0;
};

// Throws Error(usage, "sampling") for options out of range.
void check_sampling(const SamplingOptions& options);

// The token at `position`; the same logits, options and position give the same token everywhere.
int64_t sample_token(std::span<const float> logits, const SamplingOptions& options, int64_t position);

}  // namespace tenon::serve
