// The primitives of the scalar expressions that vector.h has no other use for; what functions.h and the kernel pack are
// printed over. Each gives the same bits on every set.
#pragma once

#include "tenon/cpu/sets/vector.h"

// Scalar functions of ours that `call` reaches: tenon/scalar/range_reduction.h, which is C++ compiled once.
namespace tenon::scalar {
float quarter_turns(float x) noexcept;
float quarter_turn_remainder(float x) noexcept;
}  // namespace tenon::scalar

namespace tenon::cpu::TENON_CPU_SET {

// a < b ? a : b and b < a ? a : b: the x86 instruction itself, so the second operand where either is NaN or both are
// equal.
#if TENON_CPU_SET_avx512
TENON_INLINE Vec lesser_or_second(Vec a, Vec b) {
    return {_mm512_min_ps(a.v, b.v)};
}
TENON_INLINE Vec greater_or_second(Vec a, Vec b) {
    return {_mm512_max_ps(a.v, b.v)};
}
#elif TENON_CPU_SET_avx2
TENON_INLINE Vec lesser_or_second(Vec a, Vec b) {
    return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
TENON_INLINE Vec greater_or_second(Vec a, Vec b) {
    return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
#else
TENON_INLINE Vec lesser_or_second(Vec a, Vec b) {
    return select(less(a, b), a, b);
}
TENON_INLINE Vec greater_or_second(Vec a, Vec b) {
    return select(less(b, a), a, b);
}
#endif

// floor(log2 a) of a positive normal a. Elsewhere some value: whoever calls selects it away.
TENON_INLINE Vec exponent(Vec a) {
    return to_float(sub(shift_right(as_int(a), 23), broadcast_int(127)));
}

// mask ? function(a) : otherwise, lane by lane, and only where some lane asks.
TENON_INLINE Vec call_where(Mask mask, float (*function)(float) noexcept, Vec a, Vec otherwise) {
    const unsigned lanes = mask_bits(mask);
    if (__builtin_expect(lanes == 0, 1)) return otherwise;
    float from[16], to[16];
    store(from, a);
    store(to, otherwise);
    for (int i = 0; i < 16; ++i) {
        if ((lanes >> i & 1) != 0) to[i] = function(from[i]);
    }
    return load(to);
}

// A byte per lane, 1 where the mask holds.
TENON_INLINE void store_mask_partial(uint8_t* p, Mask mask, int n) {
    const unsigned lanes = mask_bits(mask);
    for (int i = 0; i < n; ++i) p[i] = static_cast<uint8_t>(lanes >> i & 1);
}
// Eight bits to eight bytes: copy the bits to every byte, keep bit i in byte i, and turn any bit into 1.
TENON_INLINE uint64_t bytes_of(uint64_t eight_bits) {
    const uint64_t spread = (eight_bits * 0x0101010101010101u) & 0x8040201008040201u;
    return (spread + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}
TENON_INLINE void store_mask(uint8_t* p, Mask mask) {
    const unsigned lanes = mask_bits(mask);
    const uint64_t halves[2] = {bytes_of(lanes & 0xff), bytes_of(lanes >> 8)};
    memcpy(p, halves, 16);
}

}  // namespace tenon::cpu::TENON_CPU_SET
