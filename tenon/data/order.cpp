#include "tenon/data/order.h"

#include <bit>
#include <string>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/core/random.h"

namespace tenon::data {

Order::Order(uint64_t seed, int64_t samples) : key_(stream_key(seed, "data.order")), samples_(samples) {
    if (samples < 1)
        throw Error(Code::usage, "data", "an order needs at least 1 sample, not " + std::to_string(samples));
    int bits = std::bit_width(static_cast<uint64_t>(samples) - 1);  // 2^bits ≥ samples
    half_bits_ = (bits + 1) / 2;
}

int64_t Order::at(int64_t counter) const {
    if (counter < 0) throw Error(Code::usage, "data", "no sample stands at " + std::to_string(counter));
    auto samples = static_cast<uint64_t>(samples_);
    uint64_t epoch = static_cast<uint64_t>(counter) / samples, place = static_cast<uint64_t>(counter) % samples;
    if (samples == 1) return 0;
    // A permutation of the larger set: from a sample its cycle comes back to one. At most 4 steps on average.
    do place = permute(place, epoch);
    while (place >= samples);
    return static_cast<int64_t>(place);
}

uint64_t Order::permute(uint64_t value, uint64_t epoch) const noexcept {
    const auto mask = static_cast<uint32_t>((uint64_t{1} << half_bits_) - 1);
    auto left = static_cast<uint32_t>(value >> half_bits_), right = static_cast<uint32_t>(value) & mask;
    for (uint32_t round = 0; round < 8; ++round) {
        uint32_t mixed =
            philox(key_, {right, round, static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32)})[0];
        left = std::exchange(right, left ^ (mixed & mask));
    }
    return uint64_t{left} << half_bits_ | right;
}

}  // namespace tenon::data
