#include "tests/cpu/sets/vector_probe.h"

#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

void probe_unary(Unary op, const float* a, float* out) {
    const Vec x = load(a);
    switch (op) {
        case Unary::square_root:
            return store(out, sqrt(x));
        case Unary::negate:
            return store(out, negate(x));
        case Unary::abs:
            return store(out, abs(x));
        case Unary::nearest:
            return store(out, round_to_nearest_even(x));
        case Unary::floor:
            return store(out, floor(x));
        case Unary::ceil:
            return store(out, ceil(x));
        case Unary::trunc:
            return store(out, trunc(x));
        case Unary::count:
            return;
    }
}

void probe_binary(Binary op, const float* a, const float* b, float* out) {
    const Vec x = load(a), y = load(b);
    switch (op) {
        case Binary::add:
            return store(out, add(x, y));
        case Binary::sub:
            return store(out, sub(x, y));
        case Binary::mul:
            return store(out, mul(x, y));
        case Binary::div:
            return store(out, div(x, y));
        case Binary::maximum:
            return store(out, maximum(x, y));
        case Binary::minimum:
            return store(out, minimum(x, y));
        case Binary::ldexp:
            return store(out, ldexp(x, y));
        case Binary::count:
            return;
    }
}

void probe_fma(const float* a, const float* b, const float* c, float* out) {
    store(out, fma(load(a), load(b), load(c)));
}

unsigned probe_compare(Compare op, const float* a, const float* b) {
    const Vec x = load(a), y = load(b);
    switch (op) {
        case Compare::less:
            return mask_bits(less(x, y));
        case Compare::less_equal:
            return mask_bits(less_equal(x, y));
        case Compare::greater:
            return mask_bits(greater(x, y));
        case Compare::greater_equal:
            return mask_bits(greater_equal(x, y));
        case Compare::equal:
            return mask_bits(equal(x, y));
        case Compare::not_equal:
            return mask_bits(not_equal(x, y));
        case Compare::a_is_nan:
            return mask_bits(is_nan(x));
        case Compare::count:
            break;
    }
    return 0;
}

void probe_select(unsigned bits, const float* a, const float* b, float* out) {
    store(out, select(mask_from_bits(bits), load(a), load(b)));
}

// and, or, xor, not in one number, so that one comparison checks them all.
unsigned probe_mask_algebra(unsigned a, unsigned b) {
    const Mask x = mask_from_bits(a), y = mask_from_bits(b);
    unsigned sum = mask_bits(mask_and(x, y)) + 3 * mask_bits(mask_or(x, y)) + 5 * mask_bits(mask_xor(x, y));
    sum += 7 * mask_bits(mask_not(x));
    return sum + (any(x) ? 1u << 30 : 0u) + (all(x) ? 1u << 31 : 0u);
}

void probe_int(IntBinary op, const int32_t* a, const int32_t* b, int32_t* out) {
    const IntVec x = load_int(a), y = load_int(b);
    switch (op) {
        case IntBinary::add:
            return store_int(out, add(x, y));
        case IntBinary::sub:
            return store_int(out, sub(x, y));
        case IntBinary::mul:
            return store_int(out, mul(x, y));
        case IntBinary::multiply_high:
            return store_int(out, multiply_high_unsigned(x, y));
        case IntBinary::bit_and:
            return store_int(out, bit_and(x, y));
        case IntBinary::bit_or:
            return store_int(out, bit_or(x, y));
        case IntBinary::bit_xor:
            return store_int(out, bit_xor(x, y));
        case IntBinary::count:
            return;
    }
}

void probe_shifts(const int32_t* a, int32_t* left3, int32_t* right3, int32_t* signed3) {
    store_int(left3, shift_left(load_int(a), 3));
    store_int(right3, shift_right(load_int(a), 3));
    store_int(signed3, shift_right_signed(load_int(a), 3));
}

void probe_convert(const float* a, int32_t* nearest, int32_t* truncated, float* back) {
    store_int(nearest, to_int(load(a)));
    store_int(truncated, truncate_to_int(load(a)));
    store(back, to_float(to_int(load(a))));
}

void probe_partial(const float* from, float* to, int n) {
    const Vec part = load_partial(from, n);
    store(to, part);
    store_partial(to + 16, part, n);
}

void probe_int_partial(const int32_t* from, int32_t* to, int n) {
    const IntVec part = load_int_partial(from, n);
    store_int(to, part);
    store_int_partial(to + 16, part, n);
}

void probe_load_half(Half type, const uint16_t* from, float* to) {
    store(to, type == Half::bf16 ? load_bf16(from) : load_f16(from));
}
void probe_store_half(Half type, const float* from, uint16_t* to) {
    type == Half::bf16 ? store_bf16(to, load(from)) : store_f16(to, load(from));
}
void probe_half_partial(Half type, const uint16_t* from, float* wide, uint16_t* to, int n) {
    const Vec part = type == Half::bf16 ? load_bf16_partial(from, n) : load_f16_partial(from, n);
    store(wide, part);
    type == Half::bf16 ? store_bf16_partial(to, part, n) : store_f16_partial(to, part, n);
}

float probe_tree_sum(const float* a) {
    return tree_sum(load(a));
}
float probe_tree_maximum(const float* a) {
    return tree_maximum(load(a));
}

void probe_transpose(const float* from, float* to) {
    Vec rows[16];
    for (int i = 0; i < 16; ++i) rows[i] = load(from + 16 * i);
    transpose(rows);
    for (int i = 0; i < 16; ++i) store(to + 16 * i, rows[i]);
}

}  // namespace tenon::cpu::TENON_CPU_SET
