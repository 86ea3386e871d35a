// The vector's functions behind plain ones, compiled per instruction set, so that a test can call any set's.
// Each works on 16 lanes.
#pragma once

#include <stdint.h>

#include "tenon/cpu/instruction_set.h"

namespace tenon::cpu {

enum class Unary { square_root, negate, abs, nearest, floor, ceil, trunc, count };
enum class Binary { add, sub, mul, div, maximum, minimum, ldexp, count };
enum class Compare { less, less_equal, greater, greater_equal, equal, not_equal, a_is_nan, count };
enum class IntBinary { add, sub, mul, multiply_high, bit_and, bit_or, bit_xor, count };
enum class Half { bf16, f16 };

TENON_IN_EVERY_SET(void probe_unary(Unary op, const float* a, float* out);
                   void probe_binary(Binary op, const float* a, const float* b, float* out);
                   void probe_fma(const float* a, const float* b, const float* c, float* out);
                   unsigned probe_compare(Compare op, const float* a, const float* b);
                   void probe_select(unsigned bits, const float* a, const float* b, float* out);
                   unsigned probe_mask_algebra(unsigned a, unsigned b);
                   void probe_int(IntBinary op, const int32_t* a, const int32_t* b, int32_t* out);
                   void probe_shifts(const int32_t* a, int32_t* left3, int32_t* right3, int32_t* signed3);
                   void probe_convert(const float* a, int32_t* nearest, int32_t* truncated, float* back);
                   void probe_partial(const float* from, float* to, int n);
                   void probe_int_partial(const int32_t* from, int32_t* to, int n);
                   void probe_load_half(Half type, const uint16_t* from, float* to);
                   void probe_store_half(Half type, const float* from, uint16_t* to);
                   void probe_half_partial(Half type, const uint16_t* from, float* wide, uint16_t* to, int n);
                   float probe_tree_sum(const float* a); float probe_tree_maximum(const float* a);
                   void probe_transpose(const float* from, float* to);)

}  // namespace tenon::cpu
