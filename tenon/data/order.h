// The order in which samples are seen: in each epoch every sample once, in an order keyed by (seed, epoch). Nothing is
// stored and nothing is drawn in sequence, so any place is found at once, on any rank.
#pragma once

#include <cstdint>

namespace tenon::data {

// A Feistel network over the smallest even power of two that holds all samples, walked until it lands on one (Black and
// Rogaway 2002, "Ciphers with arbitrary finite domains"). Round r replaces one half by
//   half ^ (word 0 of Philox(key, (other half, r, epoch low, epoch high)) mod its size)
// with key = stream_key(seed, "data.order"), 8 rounds.
class Order {
public:
    Order(uint64_t seed, int64_t samples);  // samples ≥ 1, else Error(usage, "data")

    // The sample that stands at place `counter` ≥ 0 of the endless row: epoch counter / samples, place counter mod
    // samples within it.
    int64_t at(int64_t counter) const;

private:
    uint64_t permute(uint64_t value, uint64_t epoch) const noexcept;

    uint64_t key_;
    int64_t samples_;
    int half_bits_;
};

}  // namespace tenon::data
