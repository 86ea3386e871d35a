// The vector on any x86-64: four xmm of SSE2, and an exact fma in software. See vector.h for what each function
// promises.
#pragma once

#include <emmintrin.h>

namespace tenon::cpu::plain {

struct Vec {
    __m128 q[4];
};
struct IntVec {
    __m128i q[4];
};
// All ones in a chosen lane, zeros elsewhere.
struct Mask {
    __m128 q[4];
};

// 16 ones then 16 zeros: a window that starts at 16 - n has its first n lanes set.
alignas(64) constexpr int32_t kWindow[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                             0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0};

// One quarter at a time: result.q[i] = f(a.q[i], ...).
template <class Result, class F>
TENON_INLINE Result each(F f) {
    Result r;
    for (int i = 0; i < 4; ++i) r.q[i] = f(i);
    return r;
}
TENON_INLINE __m128 choose(__m128 m, __m128 a, __m128 b) {
    return _mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b));
}

TENON_INLINE Vec broadcast(float x) {
    return each<Vec>([=](int) { return _mm_set1_ps(x); });
}
TENON_INLINE Vec zero() {
    return broadcast(0.0f);
}
TENON_INLINE Vec load(const float* p) {
    return each<Vec>([=](int i) { return _mm_loadu_ps(p + 4 * i); });
}
TENON_INLINE void store(float* p, Vec a) {
    for (int i = 0; i < 4; ++i) _mm_storeu_ps(p + 4 * i, a.q[i]);
}
TENON_INLINE Vec load_partial(const float* p, int n) {
    float lanes[16] = {};
    if (n > 0) memcpy(lanes, p, sizeof(float) * static_cast<size_t>(n));
    return load(lanes);
}
TENON_INLINE void store_partial(float* p, Vec a, int n) {
    float lanes[16];
    store(lanes, a);
    if (n > 0) memcpy(p, lanes, sizeof(float) * static_cast<size_t>(n));
}
TENON_INLINE float first_lane(Vec a) {
    return _mm_cvtss_f32(a.q[0]);
}

TENON_INLINE Vec add(Vec a, Vec b) {
    return each<Vec>([&](int i) { return _mm_add_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Vec sub(Vec a, Vec b) {
    return each<Vec>([&](int i) { return _mm_sub_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Vec mul(Vec a, Vec b) {
    return each<Vec>([&](int i) { return _mm_mul_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Vec div(Vec a, Vec b) {
    return each<Vec>([&](int i) { return _mm_div_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Vec sqrt(Vec a) {
    return each<Vec>([&](int i) { return _mm_sqrt_ps(a.q[i]); });
}
TENON_INLINE Vec negate(Vec a) {
    return each<Vec>([&](int i) { return _mm_xor_ps(a.q[i], _mm_set1_ps(-0.0f)); });
}
TENON_INLINE Vec abs(Vec a) {
    return each<Vec>([&](int i) { return _mm_andnot_ps(_mm_set1_ps(-0.0f), a.q[i]); });
}

// a*b + c of f32 values held in f64, rounded to odd: the product of two f32 is exact in f64, TwoSum (Knuth) gives the
// sum's exact error, and an inexact sum moves to its odd neighbour, so that the final rounding to f32 is the only one
// (Boldo and Melquiond 2008; 53 >= 24 + 2). An infinite or NaN sum has a NaN error, which compares false and stays.
TENON_INLINE __m128d fma_to_odd(__m128d a, __m128d b, __m128d c) {
    __m128d p = _mm_mul_pd(a, b), s = _mm_add_pd(p, c), c_part = _mm_sub_pd(s, p);
    __m128d e = _mm_add_pd(_mm_sub_pd(p, _mm_sub_pd(s, c_part)), _mm_sub_pd(c, c_part));
    __m128d inexact = _mm_or_pd(_mm_cmplt_pd(e, _mm_setzero_pd()), _mm_cmpgt_pd(e, _mm_setzero_pd()));
    __m128i bits = _mm_castpd_si128(s), one = _mm_set_epi32(0, 1, 0, 1);
    __m128i even = _mm_sub_epi64(_mm_and_si128(bits, one), one);
    __m128i signs = _mm_srai_epi32(_mm_castpd_si128(_mm_xor_pd(e, s)), 31);
    __m128i step = _mm_or_si128(_mm_shuffle_epi32(signs, 0xf5), one);  // -1 towards zero, +1 away from it
    step = _mm_and_si128(step, _mm_and_si128(even, _mm_castpd_si128(inexact)));
    return _mm_castsi128_pd(_mm_add_epi64(bits, step));
}
TENON_INLINE Vec fma(Vec a, Vec b, Vec c) {
    return each<Vec>([&](int i) {
        __m128 x = a.q[i], y = b.q[i], z = c.q[i];
        __m128d low = fma_to_odd(_mm_cvtps_pd(x), _mm_cvtps_pd(y), _mm_cvtps_pd(z));
        __m128d high = fma_to_odd(_mm_cvtps_pd(_mm_movehl_ps(x, x)), _mm_cvtps_pd(_mm_movehl_ps(y, y)),
                                  _mm_cvtps_pd(_mm_movehl_ps(z, z)));
        return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
    });
}

TENON_INLINE Mask less(Vec a, Vec b) {
    return each<Mask>([&](int i) { return _mm_cmplt_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Mask less_equal(Vec a, Vec b) {
    return each<Mask>([&](int i) { return _mm_cmple_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Mask greater(Vec a, Vec b) {
    return less(b, a);
}
TENON_INLINE Mask greater_equal(Vec a, Vec b) {
    return less_equal(b, a);
}
TENON_INLINE Mask equal(Vec a, Vec b) {
    return each<Mask>([&](int i) { return _mm_cmpeq_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Mask not_equal(Vec a, Vec b) {
    return each<Mask>([&](int i) { return _mm_cmpneq_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Mask is_nan(Vec a) {
    return each<Mask>([&](int i) { return _mm_cmpunord_ps(a.q[i], a.q[i]); });
}
TENON_INLINE Vec select(Mask m, Vec a, Vec b) {
    return each<Vec>([&](int i) { return choose(m.q[i], a.q[i], b.q[i]); });
}
TENON_INLINE Mask mask_and(Mask a, Mask b) {
    return each<Mask>([&](int i) { return _mm_and_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Mask mask_or(Mask a, Mask b) {
    return each<Mask>([&](int i) { return _mm_or_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Mask mask_xor(Mask a, Mask b) {
    return each<Mask>([&](int i) { return _mm_xor_ps(a.q[i], b.q[i]); });
}
TENON_INLINE Mask mask_not(Mask a) {
    return each<Mask>([&](int i) { return _mm_xor_ps(a.q[i], _mm_castsi128_ps(_mm_set1_epi32(-1))); });
}
TENON_INLINE Mask first_lanes(int n) {
    return each<Mask>([=](int i) {
        return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kWindow + 16 - n + 4 * i)));
    });
}
TENON_INLINE unsigned mask_bits(Mask a) {
    unsigned bits = 0;
    for (int i = 0; i < 4; ++i) bits |= static_cast<unsigned>(_mm_movemask_ps(a.q[i])) << (4 * i);
    return bits;
}
TENON_INLINE Mask mask_from_bits(unsigned bits) {
    return each<Mask>([=](int i) {
        __m128i lane_bit = _mm_slli_epi32(_mm_setr_epi32(1, 2, 4, 8), 4 * i);
        __m128i set = _mm_and_si128(_mm_set1_epi32(static_cast<int>(bits)), lane_bit);
        return _mm_castsi128_ps(_mm_cmpeq_epi32(set, lane_bit));
    });
}
TENON_INLINE bool any(Mask a) {
    return mask_bits(a) != 0;
}
TENON_INLINE bool all(Mask a) {
    return mask_bits(a) == 0xffff;
}

// The instruction gives its second operand when the two are equal or either is NaN.
TENON_INLINE Vec maximum(Vec a, Vec b) {
    return select(is_nan(b), b, each<Vec>([&](int i) { return _mm_max_ps(b.q[i], a.q[i]); }));
}
TENON_INLINE Vec minimum(Vec a, Vec b) {
    return select(is_nan(b), b, each<Vec>([&](int i) { return _mm_min_ps(b.q[i], a.q[i]); }));
}

TENON_INLINE IntVec as_int(Vec a) {
    return each<IntVec>([&](int i) { return _mm_castps_si128(a.q[i]); });
}
TENON_INLINE Vec as_float(IntVec a) {
    return each<Vec>([&](int i) { return _mm_castsi128_ps(a.q[i]); });
}
TENON_INLINE Vec to_float(IntVec a) {
    return each<Vec>([&](int i) { return _mm_cvtepi32_ps(a.q[i]); });
}
TENON_INLINE IntVec to_int(Vec a) {
    return each<IntVec>([&](int i) { return _mm_cvtps_epi32(a.q[i]); });
}
TENON_INLINE IntVec truncate_to_int(Vec a) {
    return each<IntVec>([&](int i) { return _mm_cvttps_epi32(a.q[i]); });
}
// Adding and taking away 2^23 leaves an integer; from 2^23 on every float is one. The sign survives as -0.
TENON_INLINE Vec round_to_nearest_even(Vec a) {
    Vec magnitude = abs(a), big = broadcast(8388608.0f), sign = broadcast(-0.0f);
    Vec whole = select(greater_equal(magnitude, big), magnitude, sub(add(magnitude, big), big));
    return each<Vec>([&](int i) { return _mm_or_ps(whole.q[i], _mm_and_ps(sign.q[i], a.q[i])); });
}
TENON_INLINE Vec with_sign_of(Vec a, Vec sign) {
    return each<Vec>([&](int i) { return _mm_or_ps(a.q[i], _mm_and_ps(_mm_set1_ps(-0.0f), sign.q[i])); });
}
TENON_INLINE Vec floor(Vec a) {
    Vec r = round_to_nearest_even(a);
    return with_sign_of(select(greater(r, a), sub(r, broadcast(1.0f)), r), a);
}
TENON_INLINE Vec ceil(Vec a) {
    return negate(floor(negate(a)));
}
TENON_INLINE Vec trunc(Vec a) {
    return with_sign_of(floor(abs(a)), a);
}
TENON_INLINE Vec ldexp(Vec p, Vec n) {
    return each<Vec>([&](int i) {
        __m128 clamped = _mm_min_ps(_mm_max_ps(n.q[i], _mm_set1_ps(-252.0f)), _mm_set1_ps(252.0f));
        __m128i whole = _mm_cvtps_epi32(clamped), first = _mm_srai_epi32(whole, 1),
                second = _mm_sub_epi32(whole, first);
        __m128i bias = _mm_set1_epi32(127);
        __m128 half = _mm_mul_ps(p.q[i], _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(first, bias), 23)));
        return _mm_mul_ps(half, _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(second, bias), 23)));
    });
}

TENON_INLINE IntVec broadcast_int(int32_t x) {
    return each<IntVec>([=](int) { return _mm_set1_epi32(x); });
}
TENON_INLINE IntVec load_int(const int32_t* p) {
    return each<IntVec>([=](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 4 * i)); });
}
TENON_INLINE void store_int(int32_t* p, IntVec a) {
    for (int i = 0; i < 4; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 4 * i), a.q[i]);
}
TENON_INLINE IntVec load_int_partial(const int32_t* p, int n) {
    int32_t lanes[16] = {};
    if (n > 0) memcpy(lanes, p, sizeof(int32_t) * static_cast<size_t>(n));
    return load_int(lanes);
}
TENON_INLINE void store_int_partial(int32_t* p, IntVec a, int n) {
    int32_t lanes[16];
    store_int(lanes, a);
    if (n > 0) memcpy(p, lanes, sizeof(int32_t) * static_cast<size_t>(n));
}
TENON_INLINE IntVec lane_indices() {
    return each<IntVec>([](int i) { return _mm_setr_epi32(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3); });
}
TENON_INLINE IntVec add(IntVec a, IntVec b) {
    return each<IntVec>([&](int i) { return _mm_add_epi32(a.q[i], b.q[i]); });
}
TENON_INLINE IntVec sub(IntVec a, IntVec b) {
    return each<IntVec>([&](int i) { return _mm_sub_epi32(a.q[i], b.q[i]); });
}
// SSE2 multiplies only even lanes, to 64 bits: once as they are, once shifted down.
TENON_INLINE IntVec mul(IntVec a, IntVec b) {
    return each<IntVec>([&](int i) {
        __m128i even = _mm_mul_epu32(a.q[i], b.q[i]);
        __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a.q[i], 32), _mm_srli_epi64(b.q[i], 32));
        return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x08), _mm_shuffle_epi32(odd, 0x08));
    });
}
TENON_INLINE IntVec multiply_high_unsigned(IntVec a, IntVec b) {
    return each<IntVec>([&](int i) {
        __m128i even = _mm_mul_epu32(a.q[i], b.q[i]);
        __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a.q[i], 32), _mm_srli_epi64(b.q[i], 32));
        return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x0d), _mm_shuffle_epi32(odd, 0x0d));
    });
}
TENON_INLINE IntVec bit_and(IntVec a, IntVec b) {
    return each<IntVec>([&](int i) { return _mm_and_si128(a.q[i], b.q[i]); });
}
TENON_INLINE IntVec bit_or(IntVec a, IntVec b) {
    return each<IntVec>([&](int i) { return _mm_or_si128(a.q[i], b.q[i]); });
}
TENON_INLINE IntVec bit_xor(IntVec a, IntVec b) {
    return each<IntVec>([&](int i) { return _mm_xor_si128(a.q[i], b.q[i]); });
}
TENON_INLINE IntVec shift_left(IntVec a, int n) {
    return each<IntVec>([&](int i) { return _mm_slli_epi32(a.q[i], n); });
}
TENON_INLINE IntVec shift_right(IntVec a, int n) {
    return each<IntVec>([&](int i) { return _mm_srli_epi32(a.q[i], n); });
}
TENON_INLINE IntVec shift_right_signed(IntVec a, int n) {
    return each<IntVec>([&](int i) { return _mm_srai_epi32(a.q[i], n); });
}
TENON_INLINE Mask equal(IntVec a, IntVec b) {
    return each<Mask>([&](int i) { return _mm_castsi128_ps(_mm_cmpeq_epi32(a.q[i], b.q[i])); });
}
TENON_INLINE Mask greater(IntVec a, IntVec b) {
    return each<Mask>([&](int i) { return _mm_castsi128_ps(_mm_cmpgt_epi32(a.q[i], b.q[i])); });
}
TENON_INLINE Mask less(IntVec a, IntVec b) {
    return greater(b, a);
}
TENON_INLINE IntVec select(Mask m, IntVec a, IntVec b) {
    return as_int(select(m, as_float(a), as_float(b)));
}

TENON_INLINE IntVec load_u16(const uint16_t* p) {
    IntVec r;
    for (int i = 0; i < 2; ++i) {
        __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8 * i));
        r.q[2 * i] = _mm_unpacklo_epi16(eight, _mm_setzero_si128());
        r.q[2 * i + 1] = _mm_unpackhi_epi16(eight, _mm_setzero_si128());
    }
    return r;
}
TENON_INLINE IntVec load_u16_partial(const uint16_t* p, int n) {
    uint16_t lanes[16] = {};
    if (n > 0) memcpy(lanes, p, sizeof(uint16_t) * static_cast<size_t>(n));
    return load_u16(lanes);
}
// SSE2 packs with signed saturation only, so the low half is sign-extended first.
TENON_INLINE void store_u16(uint16_t* p, IntVec a) {
    a = shift_right_signed(shift_left(a, 16), 16);
    for (int i = 0; i < 2; ++i) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8 * i), _mm_packs_epi32(a.q[2 * i], a.q[2 * i + 1]));
    }
}
TENON_INLINE void store_u16_partial(uint16_t* p, IntVec a, int n) {
    uint16_t lanes[16];
    store_u16(lanes, a);
    if (n > 0) memcpy(p, lanes, sizeof(uint16_t) * static_cast<size_t>(n));
}
// f16: 1 sign, 5 exponent (bias 15), 10 fraction bits. A subnormal is its integer times 2^-24.
TENON_INLINE Vec f16_value(IntVec h) {
    IntVec sign = shift_left(bit_and(h, broadcast_int(0x8000)), 16), rest = bit_and(h, broadcast_int(0x7fff));
    IntVec wide = shift_left(rest, 13);
    IntVec normal = add(wide, broadcast_int((127 - 15) << 23));
    IntVec special = bit_or(wide, broadcast_int(0x7f800000));
    IntVec small = as_int(mul(to_float(rest), broadcast(0x1p-24f)));
    IntVec magnitude = select(less(rest, broadcast_int(0x400)), small, normal);
    magnitude = select(greater(rest, broadcast_int(0x7bff)), special, magnitude);
    return as_float(bit_or(magnitude, sign));
}
TENON_INLINE IntVec f16_bits(Vec a) {
    IntVec u = as_int(a), sign = bit_and(shift_right(u, 16), broadcast_int(0x8000)), m = as_int(abs(a));
    IntVec odd = bit_and(shift_right(m, 13), broadcast_int(1));
    IntVec normal = shift_right(add(sub(m, broadcast_int((127 - 15) << 23)), add(odd, broadcast_int(0xfff))), 13);
    IntVec small = to_int(mul(abs(a), broadcast(0x1p24f)));
    IntVec h = select(less(m, broadcast_int(0x38800000)), small, normal);
    h = select(less(m, broadcast_int(0x477ff000)), h, broadcast_int(0x7c00));  // 65520 and above round to infinity
    return select(is_nan(a), broadcast_int(0x7e00), bit_or(h, sign));
}
TENON_INLINE Vec load_f16(const uint16_t* p) {
    return f16_value(load_u16(p));
}
TENON_INLINE Vec load_f16_partial(const uint16_t* p, int n) {
    return f16_value(load_u16_partial(p, n));
}
TENON_INLINE void store_f16(uint16_t* p, Vec a) {
    store_u16(p, f16_bits(a));
}
TENON_INLINE void store_f16_partial(uint16_t* p, Vec a, int n) {
    store_u16_partial(p, f16_bits(a), n);
}

// Lane i of the result is lane i + n of a, for the lanes a tree still needs.
TENON_INLINE Vec lanes_down_8(Vec a) {
    return {{a.q[2], a.q[3], a.q[2], a.q[3]}};
}
TENON_INLINE Vec lanes_down_4(Vec a) {
    return {{a.q[1], a.q[1], a.q[2], a.q[3]}};
}
TENON_INLINE Vec lanes_down_2(Vec a) {
    return {{_mm_movehl_ps(a.q[0], a.q[0]), a.q[1], a.q[2], a.q[3]}};
}
TENON_INLINE Vec lanes_down_1(Vec a) {
    return {{_mm_shuffle_ps(a.q[0], a.q[0], 0x55), a.q[1], a.q[2], a.q[3]}};
}

TENON_INLINE void transpose(Vec* rows) {
    float block[16][16];
    for (int i = 0; i < 16; ++i) store(block[i], rows[i]);
    float turned[16][16];
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) turned[j][i] = block[i][j];
    }
    for (int i = 0; i < 16; ++i) rows[i] = load(turned[i]);
}

constexpr int kTurn = 16;
template <int kCount>
TENON_INLINE void load_turned(const float* p, int64_t stride, Vec* columns) {
    for (int i = 0; i < 16; ++i) columns[i] = i < kCount ? load(p + i * stride) : zero();
    transpose(columns);
}

}  // namespace tenon::cpu::plain
