// Dropout of attention's weights: Philox4x32-10 sixteen counters at a time (tenon/core/random.h has it one at a time).
#pragma once

#include "tenon/cpu/sets/attention_tile.h"
#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

// words[4 * i + w] = word w of block first + i, i in [0, 16).
static inline __attribute__((noinline)) void random_blocks(const WeightDropout& d, uint64_t first, uint32_t* words) {
    alignas(64) int32_t low[kLanes], high[kLanes], word[4][kLanes];
    for (int i = 0; i < kLanes; ++i) {
        const uint64_t block = first + static_cast<uint64_t>(i);
        low[i] = static_cast<int32_t>(static_cast<uint32_t>(block));
        high[i] = static_cast<int32_t>(static_cast<uint32_t>(block >> 32));
    }
    const auto constant = [](uint32_t x) { return broadcast_int(static_cast<int32_t>(x)); };
    IntVec c0 = load_int(low), c1 = load_int(high), c2 = constant(d.step), c3 = constant(d.leaf);
    auto k0 = static_cast<uint32_t>(d.key), k1 = static_cast<uint32_t>(d.key >> 32);
    for (int round = 0; round < 10; ++round) {
        const IntVec m0 = constant(0xD2511F53), m1 = constant(0xCD9E8D57);
        const IntVec high0 = multiply_high_unsigned(m0, c0), low0 = mul(m0, c0);
        const IntVec high1 = multiply_high_unsigned(m1, c2), low1 = mul(m1, c2);
        c0 = bit_xor(bit_xor(high1, c1), constant(k0));
        c1 = low1;
        c2 = bit_xor(bit_xor(high0, c3), constant(k1));
        c3 = low0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    store_int(word[0], c0);
    store_int(word[1], c1);
    store_int(word[2], c2);
    store_int(word[3], c3);
    for (int i = 0; i < kLanes; ++i) {
        for (int w = 0; w < 4; ++w) words[4 * i + w] = static_cast<uint32_t>(word[w][i]);
    }
}

// The words of a row's weights, up to 128 at a time.
struct DropoutRow {
    alignas(64) uint32_t words[192 + kLanes];
    int64_t shift;  // the first weight's word

    TENON_INLINE void draw(const WeightDropout& d, int64_t row, int64_t key, int64_t count) {
        const int64_t element = d.first + row * d.row_stride + key;
        shift = element % 4;
        for (int64_t i = 0; i < shift + count; i += 64) {
            random_blocks(d, static_cast<uint64_t>((element - shift + i) / 4), words + i);
        }
    }
    // Lanes that are kept, of the 16 from weight `at`.
    TENON_INLINE Mask kept(const WeightDropout& d, int64_t at) const {
        if (d.threshold > 0xffffffffu) return first_lanes(0);
        const IntVec sign = broadcast_int(static_cast<int32_t>(0x80000000u));
        const IntVec word = load_int(reinterpret_cast<const int32_t*>(words + shift + at));  // the same bits, signed
        const IntVec least_kept = broadcast_int(static_cast<int32_t>(static_cast<uint32_t>(d.threshold)));
        return mask_not(less(bit_xor(word, sign), bit_xor(least_kept, sign)));
    }
    TENON_INLINE Vec drop(const WeightDropout& d, int64_t at, Vec value) const {
        return select(kept(d, at), mul(value, broadcast(d.scale)), zero());
    }
};

}  // namespace tenon::cpu::TENON_CPU_SET
