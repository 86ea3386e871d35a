// The vector on AVX2 + FMA + F16C: two ymm. See vector.h for what each function promises.
#pragma once

#include <immintrin.h>

namespace tenon::cpu::avx2 {

struct Vec {
    __m256 lo, hi;
};
struct IntVec {
    __m256i lo, hi;
};
// All ones in a chosen lane, zeros elsewhere.
struct Mask {
    __m256 lo, hi;
};

// 16 ones then 16 zeros: a window that starts at 16 - n has its first n lanes set.
alignas(64) constexpr int32_t kWindow[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                             0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0};
TENON_INLINE IntVec window(int n) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(kWindow + 16 - n)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kWindow + 24 - n))};
}

TENON_INLINE Vec zero() {
    return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
TENON_INLINE Vec broadcast(float x) {
    return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
TENON_INLINE Vec load(const float* p) {
    return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
TENON_INLINE void store(float* p, Vec a) {
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
TENON_INLINE Vec load_partial(const float* p, int n) {
    IntVec w = window(n);
    return {_mm256_maskload_ps(p, w.lo), _mm256_maskload_ps(p + 8, w.hi)};
}
TENON_INLINE void store_partial(float* p, Vec a, int n) {
    IntVec w = window(n);
    _mm256_maskstore_ps(p, w.lo, a.lo);
    _mm256_maskstore_ps(p + 8, w.hi, a.hi);
}
TENON_INLINE float first_lane(Vec a) {
    return _mm256_cvtss_f32(a.lo);
}

TENON_INLINE Vec add(Vec a, Vec b) {
    return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
TENON_INLINE Vec sub(Vec a, Vec b) {
    return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
TENON_INLINE Vec mul(Vec a, Vec b) {
    return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
TENON_INLINE Vec div(Vec a, Vec b) {
    return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
TENON_INLINE Vec sqrt(Vec a) {
    return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)};
}
TENON_INLINE Vec fma(Vec a, Vec b, Vec c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
TENON_INLINE Vec negate(Vec a) {
    __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_xor_ps(a.lo, sign), _mm256_xor_ps(a.hi, sign)};
}
TENON_INLINE Vec abs(Vec a) {
    __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}

template <int kPredicate>
TENON_INLINE Mask compare(Vec a, Vec b) {
    return {_mm256_cmp_ps(a.lo, b.lo, kPredicate), _mm256_cmp_ps(a.hi, b.hi, kPredicate)};
}
TENON_INLINE Mask less(Vec a, Vec b) {
    return compare<_CMP_LT_OQ>(a, b);
}
TENON_INLINE Mask less_equal(Vec a, Vec b) {
    return compare<_CMP_LE_OQ>(a, b);
}
TENON_INLINE Mask greater(Vec a, Vec b) {
    return compare<_CMP_GT_OQ>(a, b);
}
TENON_INLINE Mask greater_equal(Vec a, Vec b) {
    return compare<_CMP_GE_OQ>(a, b);
}
TENON_INLINE Mask equal(Vec a, Vec b) {
    return compare<_CMP_EQ_OQ>(a, b);
}
TENON_INLINE Mask not_equal(Vec a, Vec b) {
    return compare<_CMP_NEQ_UQ>(a, b);
}
TENON_INLINE Mask is_nan(Vec a) {
    return compare<_CMP_UNORD_Q>(a, a);
}
TENON_INLINE Vec select(Mask m, Vec a, Vec b) {
    return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)};
}
TENON_INLINE Mask mask_and(Mask a, Mask b) {
    return {_mm256_and_ps(a.lo, b.lo), _mm256_and_ps(a.hi, b.hi)};
}
TENON_INLINE Mask mask_or(Mask a, Mask b) {
    return {_mm256_or_ps(a.lo, b.lo), _mm256_or_ps(a.hi, b.hi)};
}
TENON_INLINE Mask mask_xor(Mask a, Mask b) {
    return {_mm256_xor_ps(a.lo, b.lo), _mm256_xor_ps(a.hi, b.hi)};
}
TENON_INLINE Mask mask_not(Mask a) {
    __m256 ones = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    return {_mm256_xor_ps(a.lo, ones), _mm256_xor_ps(a.hi, ones)};
}
TENON_INLINE Mask first_lanes(int n) {
    IntVec w = window(n);
    return {_mm256_castsi256_ps(w.lo), _mm256_castsi256_ps(w.hi)};
}
TENON_INLINE unsigned mask_bits(Mask a) {
    return static_cast<unsigned>(_mm256_movemask_ps(a.lo)) | static_cast<unsigned>(_mm256_movemask_ps(a.hi)) << 8;
}
TENON_INLINE Mask mask_from_bits(unsigned bits) {
    __m256i one_lo = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), one_hi = _mm256_slli_epi32(one_lo, 8);
    __m256i all_bits = _mm256_set1_epi32(static_cast<int>(bits));
    return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(all_bits, one_lo), one_lo)),
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(all_bits, one_hi), one_hi))};
}
TENON_INLINE bool any(Mask a) {
    return mask_bits(a) != 0;
}
TENON_INLINE bool all(Mask a) {
    return mask_bits(a) == 0xffff;
}

// The instruction gives its second operand when the two are equal or either is NaN.
TENON_INLINE Vec maximum(Vec a, Vec b) {
    return select(is_nan(b), b, Vec{_mm256_max_ps(b.lo, a.lo), _mm256_max_ps(b.hi, a.hi)});
}
TENON_INLINE Vec minimum(Vec a, Vec b) {
    return select(is_nan(b), b, Vec{_mm256_min_ps(b.lo, a.lo), _mm256_min_ps(b.hi, a.hi)});
}

TENON_INLINE IntVec as_int(Vec a) {
    return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)};
}
TENON_INLINE Vec as_float(IntVec a) {
    return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)};
}
TENON_INLINE Vec to_float(IntVec a) {
    return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
}
TENON_INLINE IntVec to_int(Vec a) {
    return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)};
}
TENON_INLINE IntVec truncate_to_int(Vec a) {
    return {_mm256_cvttps_epi32(a.lo), _mm256_cvttps_epi32(a.hi)};
}
template <int kMode>
TENON_INLINE Vec round_by(Vec a) {
    return {_mm256_round_ps(a.lo, kMode | _MM_FROUND_NO_EXC), _mm256_round_ps(a.hi, kMode | _MM_FROUND_NO_EXC)};
}
TENON_INLINE Vec round_to_nearest_even(Vec a) {
    return round_by<_MM_FROUND_TO_NEAREST_INT>(a);
}
TENON_INLINE Vec floor(Vec a) {
    return round_by<_MM_FROUND_TO_NEG_INF>(a);
}
TENON_INLINE Vec ceil(Vec a) {
    return round_by<_MM_FROUND_TO_POS_INF>(a);
}
TENON_INLINE Vec trunc(Vec a) {
    return round_by<_MM_FROUND_TO_ZERO>(a);
}
TENON_INLINE __m256 ldexp_half(__m256 p, __m256 n) {
    n = _mm256_min_ps(_mm256_max_ps(n, _mm256_set1_ps(-252.0f)), _mm256_set1_ps(252.0f));
    __m256i whole = _mm256_cvtps_epi32(n), first = _mm256_srai_epi32(whole, 1), second = _mm256_sub_epi32(whole, first);
    __m256i bias = _mm256_set1_epi32(127);
    p = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(first, bias), 23)));
    return _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(second, bias), 23)));
}
TENON_INLINE Vec ldexp(Vec p, Vec n) {
    return {ldexp_half(p.lo, n.lo), ldexp_half(p.hi, n.hi)};
}

TENON_INLINE IntVec broadcast_int(int32_t x) {
    return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
TENON_INLINE IntVec load_int(const int32_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
TENON_INLINE void store_int(int32_t* p, IntVec a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.lo);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), a.hi);
}
TENON_INLINE IntVec load_int_partial(const int32_t* p, int n) {
    IntVec w = window(n);
    return {_mm256_maskload_epi32(p, w.lo), _mm256_maskload_epi32(p + 8, w.hi)};
}
TENON_INLINE void store_int_partial(int32_t* p, IntVec a, int n) {
    IntVec w = window(n);
    _mm256_maskstore_epi32(p, w.lo, a.lo);
    _mm256_maskstore_epi32(p + 8, w.hi, a.hi);
}
TENON_INLINE IntVec lane_indices() {
    return {_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)};
}
TENON_INLINE IntVec add(IntVec a, IntVec b) {
    return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
TENON_INLINE IntVec sub(IntVec a, IntVec b) {
    return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
TENON_INLINE IntVec mul(IntVec a, IntVec b) {
    return {_mm256_mullo_epi32(a.lo, b.lo), _mm256_mullo_epi32(a.hi, b.hi)};
}
TENON_INLINE __m256i multiply_high_half(__m256i a, __m256i b) {
    __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(a, b), 32);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    return _mm256_blend_epi32(even, odd, 0xaa);
}
TENON_INLINE IntVec multiply_high_unsigned(IntVec a, IntVec b) {
    return {multiply_high_half(a.lo, b.lo), multiply_high_half(a.hi, b.hi)};
}
TENON_INLINE IntVec bit_and(IntVec a, IntVec b) {
    return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
TENON_INLINE IntVec bit_or(IntVec a, IntVec b) {
    return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}
TENON_INLINE IntVec bit_xor(IntVec a, IntVec b) {
    return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)};
}
TENON_INLINE IntVec shift_left(IntVec a, int n) {
    return {_mm256_slli_epi32(a.lo, n), _mm256_slli_epi32(a.hi, n)};
}
TENON_INLINE IntVec shift_right(IntVec a, int n) {
    return {_mm256_srli_epi32(a.lo, n), _mm256_srli_epi32(a.hi, n)};
}
TENON_INLINE IntVec shift_right_signed(IntVec a, int n) {
    return {_mm256_srai_epi32(a.lo, n), _mm256_srai_epi32(a.hi, n)};
}
TENON_INLINE Mask equal(IntVec a, IntVec b) {
    return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(a.lo, b.lo)), _mm256_castsi256_ps(_mm256_cmpeq_epi32(a.hi, b.hi))};
}
TENON_INLINE Mask greater(IntVec a, IntVec b) {
    return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(a.lo, b.lo)), _mm256_castsi256_ps(_mm256_cmpgt_epi32(a.hi, b.hi))};
}
TENON_INLINE Mask less(IntVec a, IntVec b) {
    return greater(b, a);
}
TENON_INLINE IntVec select(Mask m, IntVec a, IntVec b) {
    return as_int(select(m, as_float(a), as_float(b)));
}

TENON_INLINE IntVec load_u16(const uint16_t* p) {
    return {_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
TENON_INLINE IntVec load_u16_partial(const uint16_t* p, int n) {
    uint16_t all_lanes[16] = {};
    if (n > 0) memcpy(all_lanes, p, sizeof(uint16_t) * static_cast<size_t>(n));
    return load_u16(all_lanes);
}
TENON_INLINE void store_u16(uint16_t* p, IntVec a) {
    // packus works inside 128-bit halves; the permute puts its quarters 0 2 1 3 back in order.
    __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(a.lo, a.hi), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), packed);
}
TENON_INLINE void store_u16_partial(uint16_t* p, IntVec a, int n) {
    uint16_t all_lanes[16];
    store_u16(all_lanes, a);
    if (n > 0) memcpy(p, all_lanes, sizeof(uint16_t) * static_cast<size_t>(n));
}
// vcvtph2ps and vcvtps2ph are exact and round to nearest even with subnormals whatever FTZ says; only NaN needs a hand.
TENON_INLINE Vec load_f16(const uint16_t* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
TENON_INLINE Vec load_f16_partial(const uint16_t* p, int n) {
    uint16_t all_lanes[16] = {};
    if (n > 0) memcpy(all_lanes, p, sizeof(uint16_t) * static_cast<size_t>(n));
    return load_f16(all_lanes);
}
TENON_INLINE IntVec f16_bits(Vec a) {
    IntVec h{_mm256_cvtepu16_epi32(_mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)),
             _mm256_cvtepu16_epi32(_mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))};
    return select(is_nan(a), broadcast_int(0x7e00), h);
}
TENON_INLINE void store_f16(uint16_t* p, Vec a) {
    store_u16(p, f16_bits(a));
}
TENON_INLINE void store_f16_partial(uint16_t* p, Vec a, int n) {
    store_u16_partial(p, f16_bits(a), n);
}

// Lane i of the result is lane i + n of a, for the lanes a tree still needs.
TENON_INLINE Vec lanes_down_8(Vec a) {
    return {a.hi, a.hi};
}
TENON_INLINE Vec lanes_down_4(Vec a) {
    return {_mm256_permute2f128_ps(a.lo, a.lo, 0x11), a.hi};
}
TENON_INLINE Vec lanes_down_2(Vec a) {
    return {_mm256_permute_ps(a.lo, 0xee), a.hi};
}
TENON_INLINE Vec lanes_down_1(Vec a) {
    return {_mm256_permute_ps(a.lo, 0x55), a.hi};
}

// Eight rows of eight: pairs, then quads, inside 128-bit halves; then the halves.
TENON_INLINE void transpose_8x8(__m256* r) {
    __m256 t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    for (int i = 0; i < 8; ++i) r[i] = t[i];
}
TENON_INLINE void transpose(Vec* rows) {
    __m256 quarter[4][8];
    for (int i = 0; i < 8; ++i) {
        quarter[0][i] = rows[i].lo;
        quarter[1][i] = rows[i].hi;
        quarter[2][i] = rows[i + 8].lo;
        quarter[3][i] = rows[i + 8].hi;
    }
    for (int q = 0; q < 4; ++q) transpose_8x8(quarter[q]);
    for (int i = 0; i < 8; ++i) {
        rows[i] = {quarter[0][i], quarter[2][i]};
        rows[i + 8] = {quarter[1][i], quarter[3][i]};
    }
}

// Eight columns at a time: a whole 16 x 16 block does not fit the registers.
constexpr int kTurn = 8;
template <int kCount>
TENON_INLINE void load_turned(const float* p, int64_t stride, Vec* columns) {
    __m256 r[8];
    for (int i = 0; i < 8; ++i) r[i] = i < kCount ? _mm256_loadu_ps(p + i * stride) : _mm256_setzero_ps();
    transpose_8x8(r);
    for (int q = 0; q < 8; ++q) columns[q] = {r[q], _mm256_setzero_ps()};
    if constexpr (kCount > 8) {
        for (int i = 0; i < 8; ++i) r[i] = 8 + i < kCount ? _mm256_loadu_ps(p + (8 + i) * stride) : _mm256_setzero_ps();
        transpose_8x8(r);
        for (int q = 0; q < 8; ++q) columns[q].hi = r[q];
    }
}

}  // namespace tenon::cpu::avx2
