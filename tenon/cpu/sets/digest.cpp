#include "tenon/cpu/sets/digest.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

TENON_DIGEST_FUNCTIONS

namespace {

// Plain loops: the compiler turns each into this set's 32-bit lanes.

// sums += word · (k | 1) for both keys of c = n0 + lo(i) + hi(i) · 0x9e3779b9 (docs/numerics.md, Digests).
TENON_INLINE void add_word(uint32_t word, uint32_t c, uint32_t n1, uint64_t& first, uint64_t& second) {
    uint32_t k1 = c * 0x85ebca6bu;
    k1 ^= k1 >> 15;
    k1 *= 0xc2b2ae35u;
    k1 ^= k1 >> 16;
    const uint32_t k2 = (k1 * 0x27d4eb2fu) ^ n1;
    first += static_cast<uint64_t>(word) * (k1 | 1u);
    second += static_cast<uint64_t>(word) * (k2 | 1u);
}

// One word an element. The low half of the index must not wrap within the call.
template <class T, class Canonical>
TENON_INLINE DigestSums one_word(const T* x, int64_t count, uint32_t c, uint32_t n1, Canonical canonical) {
    uint64_t first = 0, second = 0;
    for (int64_t i = TENON_FAULT(digest_skips_word) ? 1 : 0; i < count; ++i) {
        add_word(canonical(static_cast<uint32_t>(x[i])), c + static_cast<uint32_t>(i), n1, first, second);
    }
    return {first, second};
}

template <class Canonical>
TENON_INLINE DigestSums two_words(const uint64_t* x, int64_t count, uint32_t c, uint32_t n1, Canonical canonical) {
    uint64_t first = 0, second = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint64_t bits = canonical(x[i]);
        const uint32_t at = c + 2 * static_cast<uint32_t>(i);
        add_word(static_cast<uint32_t>(bits), at, n1, first, second);
        add_word(static_cast<uint32_t>(bits >> 32), at + 1, n1, first, second);
    }
    return {first, second};
}

}  // namespace

DigestSums digest_words(Words type, const void* x, int64_t count, uint64_t word, uint32_t n0, uint32_t n1) {
    const uint32_t c = n0 + static_cast<uint32_t>(word) + static_cast<uint32_t>(word >> 32) * 0x9e3779b9u;
    const auto same = [](auto bits) { return bits; };
    switch (type) {
        case Words::u8:
            return one_word(static_cast<const uint8_t*>(x), count, c, n1, same);
        case Words::bf16:
            return one_word(static_cast<const uint16_t*>(x), count, c, n1,
                            [](uint32_t b) { return (b & 0x7fffu) > 0x7f80u ? 0x7fc0u : b; });
        case Words::f16:
            return one_word(static_cast<const uint16_t*>(x), count, c, n1,
                            [](uint32_t b) { return (b & 0x7fffu) > 0x7c00u ? 0x7e00u : b; });
        case Words::i32:
            return one_word(static_cast<const uint32_t*>(x), count, c, n1, same);
        case Words::f32:
            return one_word(static_cast<const uint32_t*>(x), count, c, n1, [](uint32_t b) {
                if (TENON_FAULT(digest_of_raw_nan)) return b;
                return (b & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : b;
            });
        case Words::i64:
            return two_words(static_cast<const uint64_t*>(x), count, c, n1, same);
        case Words::f64:
            return two_words(static_cast<const uint64_t*>(x), count, c, n1, [](uint64_t b) {
                return (b & 0x7fffffffffffffffu) > 0x7ff0000000000000u ? 0x7ff8000000000000u : b;
            });
    }
    return {};
}

}  // namespace tenon::cpu::TENON_CPU_SET
