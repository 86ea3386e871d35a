// The vector on AVX-512 (F, BW, DQ, VL): one zmm. See vector.h for what each function promises.
#pragma once

#include <immintrin.h>

namespace tenon::cpu::avx512 {

struct Vec {
    __m512 v;
};
struct IntVec {
    __m512i v;
};
struct Mask {
    __mmask16 v;
};

TENON_INLINE __mmask16 lanes_below(int n) {
    return static_cast<__mmask16>((1u << n) - 1u);
}

TENON_INLINE Vec zero() {
    return {_mm512_setzero_ps()};
}
TENON_INLINE Vec broadcast(float x) {
    return {_mm512_set1_ps(x)};
}
TENON_INLINE Vec load(const float* p) {
    return {_mm512_loadu_ps(p)};
}
TENON_INLINE void store(float* p, Vec a) {
    _mm512_storeu_ps(p, a.v);
}
TENON_INLINE Vec load_partial(const float* p, int n) {
    return {_mm512_maskz_loadu_ps(lanes_below(n), p)};
}
TENON_INLINE void store_partial(float* p, Vec a, int n) {
    _mm512_mask_storeu_ps(p, lanes_below(n), a.v);
}
TENON_INLINE float first_lane(Vec a) {
    return _mm512_cvtss_f32(a.v);
}

TENON_INLINE Vec add(Vec a, Vec b) {
    return {_mm512_add_ps(a.v, b.v)};
}
TENON_INLINE Vec sub(Vec a, Vec b) {
    return {_mm512_sub_ps(a.v, b.v)};
}
TENON_INLINE Vec mul(Vec a, Vec b) {
    return {_mm512_mul_ps(a.v, b.v)};
}
TENON_INLINE Vec div(Vec a, Vec b) {
    return {_mm512_div_ps(a.v, b.v)};
}
TENON_INLINE Vec sqrt(Vec a) {
    return {_mm512_sqrt_ps(a.v)};
}
TENON_INLINE Vec fma(Vec a, Vec b, Vec c) {
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
TENON_INLINE Vec negate(Vec a) {
    return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))};
}
TENON_INLINE Vec abs(Vec a) {
    return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)};
}

TENON_INLINE Mask less(Vec a, Vec b) {
    return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
}
TENON_INLINE Mask less_equal(Vec a, Vec b) {
    return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)};
}
TENON_INLINE Mask greater(Vec a, Vec b) {
    return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ)};
}
TENON_INLINE Mask greater_equal(Vec a, Vec b) {
    return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ)};
}
TENON_INLINE Mask equal(Vec a, Vec b) {
    return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)};
}
TENON_INLINE Mask not_equal(Vec a, Vec b) {
    return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_NEQ_UQ)};
}
TENON_INLINE Mask is_nan(Vec a) {
    return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)};
}
TENON_INLINE Vec select(Mask m, Vec a, Vec b) {
    return {_mm512_mask_blend_ps(m.v, b.v, a.v)};
}
TENON_INLINE Mask mask_and(Mask a, Mask b) {
    return {static_cast<__mmask16>(a.v & b.v)};
}
TENON_INLINE Mask mask_or(Mask a, Mask b) {
    return {static_cast<__mmask16>(a.v | b.v)};
}
TENON_INLINE Mask mask_xor(Mask a, Mask b) {
    return {static_cast<__mmask16>(a.v ^ b.v)};
}
TENON_INLINE Mask mask_not(Mask a) {
    return {static_cast<__mmask16>(~a.v)};
}
TENON_INLINE Mask first_lanes(int n) {
    return {lanes_below(n)};
}
TENON_INLINE unsigned mask_bits(Mask a) {
    return a.v;
}
TENON_INLINE Mask mask_from_bits(unsigned bits) {
    return {static_cast<__mmask16>(bits)};
}
TENON_INLINE bool any(Mask a) {
    return a.v != 0;
}
TENON_INLINE bool all(Mask a) {
    return a.v == 0xffff;
}

// The instruction gives its second operand when the two are equal or either is NaN.
TENON_INLINE Vec maximum(Vec a, Vec b) {
    return select(is_nan(b), b, Vec{_mm512_max_ps(b.v, a.v)});
}
TENON_INLINE Vec minimum(Vec a, Vec b) {
    return select(is_nan(b), b, Vec{_mm512_min_ps(b.v, a.v)});
}

TENON_INLINE IntVec as_int(Vec a) {
    return {_mm512_castps_si512(a.v)};
}
TENON_INLINE Vec as_float(IntVec a) {
    return {_mm512_castsi512_ps(a.v)};
}
TENON_INLINE Vec to_float(IntVec a) {
    return {_mm512_cvtepi32_ps(a.v)};
}
TENON_INLINE IntVec to_int(Vec a) {
    return {_mm512_cvtps_epi32(a.v)};
}
TENON_INLINE IntVec truncate_to_int(Vec a) {
    return {_mm512_cvttps_epi32(a.v)};
}
TENON_INLINE Vec round_to_nearest_even(Vec a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
TENON_INLINE Vec floor(Vec a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}
TENON_INLINE Vec ceil(Vec a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)};
}
TENON_INLINE Vec trunc(Vec a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)};
}
TENON_INLINE Vec ldexp(Vec p, Vec n) {
    __m512 clamped = _mm512_min_ps(_mm512_max_ps(n.v, _mm512_set1_ps(-252.0f)), _mm512_set1_ps(252.0f));
    return {_mm512_scalef_ps(p.v, clamped)};
}

TENON_INLINE IntVec broadcast_int(int32_t x) {
    return {_mm512_set1_epi32(x)};
}
TENON_INLINE IntVec load_int(const int32_t* p) {
    return {_mm512_loadu_si512(p)};
}
TENON_INLINE void store_int(int32_t* p, IntVec a) {
    _mm512_storeu_si512(p, a.v);
}
TENON_INLINE IntVec load_int_partial(const int32_t* p, int n) {
    return {_mm512_maskz_loadu_epi32(lanes_below(n), p)};
}
TENON_INLINE void store_int_partial(int32_t* p, IntVec a, int n) {
    _mm512_mask_storeu_epi32(p, lanes_below(n), a.v);
}
TENON_INLINE IntVec lane_indices() {
    return {_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)};
}
TENON_INLINE IntVec add(IntVec a, IntVec b) {
    return {_mm512_add_epi32(a.v, b.v)};
}
TENON_INLINE IntVec sub(IntVec a, IntVec b) {
    return {_mm512_sub_epi32(a.v, b.v)};
}
TENON_INLINE IntVec mul(IntVec a, IntVec b) {
    return {_mm512_mullo_epi32(a.v, b.v)};
}
TENON_INLINE IntVec multiply_high_unsigned(IntVec a, IntVec b) {
    __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(a.v, b.v), 32);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a.v, 32), _mm512_srli_epi64(b.v, 32));
    return {_mm512_mask_blend_epi32(0xaaaa, even, odd)};
}
TENON_INLINE IntVec bit_and(IntVec a, IntVec b) {
    return {_mm512_and_si512(a.v, b.v)};
}
TENON_INLINE IntVec bit_or(IntVec a, IntVec b) {
    return {_mm512_or_si512(a.v, b.v)};
}
TENON_INLINE IntVec bit_xor(IntVec a, IntVec b) {
    return {_mm512_xor_si512(a.v, b.v)};
}
TENON_INLINE IntVec shift_left(IntVec a, int n) {
    return {_mm512_slli_epi32(a.v, static_cast<unsigned>(n))};
}
TENON_INLINE IntVec shift_right(IntVec a, int n) {
    return {_mm512_srli_epi32(a.v, static_cast<unsigned>(n))};
}
TENON_INLINE IntVec shift_right_signed(IntVec a, int n) {
    return {_mm512_srai_epi32(a.v, static_cast<unsigned>(n))};
}
TENON_INLINE Mask equal(IntVec a, IntVec b) {
    return {_mm512_cmpeq_epi32_mask(a.v, b.v)};
}
TENON_INLINE Mask less(IntVec a, IntVec b) {
    return {_mm512_cmplt_epi32_mask(a.v, b.v)};
}
TENON_INLINE Mask greater(IntVec a, IntVec b) {
    return {_mm512_cmpgt_epi32_mask(a.v, b.v)};
}
TENON_INLINE IntVec select(Mask m, IntVec a, IntVec b) {
    return {_mm512_mask_blend_epi32(m.v, b.v, a.v)};
}

TENON_INLINE IntVec load_u16(const uint16_t* p) {
    return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
TENON_INLINE IntVec load_u16_partial(const uint16_t* p, int n) {
    return {_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes_below(n), p))};
}
TENON_INLINE void store_u16(uint16_t* p, IntVec a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a.v));
}
TENON_INLINE void store_u16_partial(uint16_t* p, IntVec a, int n) {
    _mm256_mask_storeu_epi16(p, lanes_below(n), _mm512_cvtepi32_epi16(a.v));
}
// vcvtph2ps and vcvtps2ph are exact and round to nearest even with subnormals whatever FTZ says; only NaN needs a hand.
TENON_INLINE Vec load_f16(const uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
TENON_INLINE Vec load_f16_partial(const uint16_t* p, int n) {
    return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes_below(n), p))};
}
TENON_INLINE __m256i f16_bits(Vec a) {
    __m256i h = _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm256_mask_blend_epi16(is_nan(a).v, h, _mm256_set1_epi16(0x7e00));
}
TENON_INLINE void store_f16(uint16_t* p, Vec a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), f16_bits(a));
}
TENON_INLINE void store_f16_partial(uint16_t* p, Vec a, int n) {
    _mm256_mask_storeu_epi16(p, lanes_below(n), f16_bits(a));
}

// Lane i of the result is lane i + n of a, for the lanes a tree still needs.
TENON_INLINE Vec lanes_down_8(Vec a) {
    return {_mm512_shuffle_f32x4(a.v, a.v, 0xee)};
}
TENON_INLINE Vec lanes_down_4(Vec a) {
    return {_mm512_shuffle_f32x4(a.v, a.v, 0x55)};
}
TENON_INLINE Vec lanes_down_2(Vec a) {
    return {_mm512_permute_ps(a.v, 0xee)};
}
TENON_INLINE Vec lanes_down_1(Vec a) {
    return {_mm512_permute_ps(a.v, 0x55)};
}

// Pairs, then quads, inside 128-bit quarters; then the quarters themselves.
TENON_INLINE void transpose(Vec* rows) {
    __m512 t[16], r[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(rows[i].v, rows[i + 1].v);
        t[i + 1] = _mm512_unpackhi_ps(rows[i].v, rows[i + 1].v);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int i = 0; i < 8; ++i) {
        rows[i].v = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        rows[i + 8].v = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    }
}

constexpr int kTurn = 16;
template <int kCount>
TENON_INLINE void load_turned(const float* p, int64_t stride, Vec* columns) {
    for (int i = 0; i < 16; ++i) columns[i] = i < kCount ? load(p + i * stride) : zero();
    transpose(columns);
}

}  // namespace tenon::cpu::avx512
