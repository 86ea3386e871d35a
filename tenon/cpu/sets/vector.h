// The one vector type that kernels are written over: 16 lanes of f32 (Vec), 16 lanes of i32 (IntVec) and a Mask.
// One zmm on AVX-512, two ymm on AVX2, four xmm on the plain path (whose fma is exact software). lane = index mod 16
// is therefore natural on every set, and every function here gives the same bits on each of them.
//
// Include this from sets/*.cpp only. Everything lives in tenon::cpu::<set>, because one inline function compiled
// twice under one name is how AVX-512 code reaches an AVX2 machine.
//
//   zero() broadcast(x) load(p) store(p, v) load_partial(p, n) store_partial(p, v, n)   n in [0, 16], absent lanes 0
//   add sub mul div sqrt negate abs        each rounds once (IEEE, nearest even)
//   fma(a, b, c)  a*b + c, one rounding
//   maximum(a, b) minimum(a, b)            NaN if either is; of equals (so of +0 and -0) the first operand
//   less less_equal greater greater_equal equal   false on NaN;   not_equal   true on NaN;   is_nan
//   select(m, a, b)  m ? a : b             mask_and mask_or mask_xor mask_not first_lanes(n) mask_bits mask_from_bits
//   any all as_int as_float                        bit casts to_float(IntVec)  to_int(Vec) nearest even
//   truncate_to_int(Vec)   out of range or NaN: 0x80000000 round_to_nearest_even floor ceil trunc ldexp(p, n)  p * 2^n,
//   n integral and clamped to [-252, 252]; the same bits on every set for |p| in [2^-100, 2^100],
//                0, infinities and NaN (outside that range the two-step form may round twice)
//   IntVec: broadcast_int load_int store_int load_int_partial store_int_partial lane_indices, add sub mul (low 32 bits)
//           multiply_high_unsigned bit_and bit_or bit_xor shift_left shift_right shift_right_signed equal less greater
//           (signed) select
//   load_bf16 load_f16 (exact) store_bf16 store_f16 (nearest even, NaN becomes the canonical 0x7fc0 / 0x7e00) and their
//           _partial forms
//   tree_sum tree_maximum                  lane i with lane i+8, then +4, +2, +1 (docs/numerics.md, Sums)
//   transpose(Vec rows[16])                in place: rows[i] lane j <-> rows[j] lane i
//   load_turned<kCount>(p, stride, columns)   columns[q] lane i = p[i * stride + q] for i < kCount, else 0; q < kTurn
//   first_lane(v)
#pragma once

#ifdef __FAST_MATH__
#error "-ffast-math (or -Ofast) reorders sums: no result would keep its bits. Take it out of CXXFLAGS."
#endif

#include <stdint.h>
#include <string.h>

#define TENON_INLINE inline __attribute__((always_inline))

#if TENON_CPU_SET_avx512
#include "tenon/cpu/sets/vector_avx512.h"
#elif TENON_CPU_SET_avx2
#include "tenon/cpu/sets/vector_avx2.h"
#elif TENON_CPU_SET_plain
#include "tenon/cpu/sets/vector_plain.h"
#else
#error "include tenon/cpu/sets/vector.h only from sources compiled per instruction set"
#endif

namespace tenon::cpu::TENON_CPU_SET {

constexpr int kLanes = 16;

// What every set shares, written over its primitives.

TENON_INLINE Vec load_bf16(const uint16_t* p) {
    return as_float(shift_left(load_u16(p), 16));
}
TENON_INLINE Vec load_bf16_partial(const uint16_t* p, int n) {
    return as_float(shift_left(load_u16_partial(p, n), 16));
}

// Round to nearest even on the bits: add half, plus one when the kept part is odd, and cut.
TENON_INLINE IntVec bf16_bits(Vec v) {
    IntVec u = as_int(v);
    IntVec odd = bit_and(shift_right(u, 16), broadcast_int(1));
    IntVec rounded = shift_right(add(u, add(odd, broadcast_int(0x7fff))), 16);
    return select(is_nan(v), broadcast_int(0x7fc0), rounded);
}
TENON_INLINE void store_bf16(uint16_t* p, Vec v) {
    store_u16(p, bf16_bits(v));
}
TENON_INLINE void store_bf16_partial(uint16_t* p, Vec v, int n) {
    store_u16_partial(p, bf16_bits(v), n);
}

TENON_INLINE float tree_sum(Vec v) {
    v = add(v, lanes_down_8(v));
    v = add(v, lanes_down_4(v));
    v = add(v, lanes_down_2(v));
    return first_lane(add(v, lanes_down_1(v)));
}
TENON_INLINE float tree_maximum(Vec v) {
    v = maximum(v, lanes_down_8(v));
    v = maximum(v, lanes_down_4(v));
    v = maximum(v, lanes_down_2(v));
    return first_lane(maximum(v, lanes_down_1(v)));
}

}  // namespace tenon::cpu::TENON_CPU_SET
