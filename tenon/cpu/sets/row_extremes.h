// Greatest and least of a row, in an order that changes nothing: NaN if any is; +0 is above -0.
#pragma once

#include "tenon/cpu/sets/elements.h"

namespace tenon::cpu::TENON_CPU_SET {

TENON_INLINE Vec greater_of(Vec a, Vec b) {
    return select(equal(a, b), as_float(bit_and(as_int(a), as_int(b))), maximum(a, b));
}
TENON_INLINE Vec lesser_of(Vec a, Vec b) {
    return select(equal(a, b), as_float(bit_or(as_int(a), as_int(b))), minimum(a, b));
}

struct Greatest {
    static constexpr float identity = -__builtin_inff();
    static TENON_INLINE Vec meet(Vec a, Vec b) { return greater_of(a, b); }
};
struct Least {
    static constexpr float identity = __builtin_inff();
    static TENON_INLINE Vec meet(Vec a, Vec b) { return lesser_of(a, b); }
};

// The identity where n is 0.
template <class E, class Op>
TENON_INLINE float extreme_of_row(const typename E::Stored* x, int64_t n) {
    Vec parts[4];
    for (Vec& part : parts) part = broadcast(Op::identity);
    int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
        for (int p = 0; p < 4; ++p) parts[p] = Op::meet(parts[p], E::load_16(x + i + p * kLanes));
    }
    for (; i + kLanes <= n; i += kLanes) parts[0] = Op::meet(parts[0], E::load_16(x + i));
    if (i < n) {
        const int lanes = static_cast<int>(n - i);
        const Vec v = select(first_lanes(lanes), E::load_some(x + i, lanes), broadcast(Op::identity));
        parts[0] = Op::meet(parts[0], v);
    }
    Vec all = Op::meet(Op::meet(parts[0], parts[1]), Op::meet(parts[2], parts[3]));
    all = Op::meet(all, lanes_down_8(all));
    all = Op::meet(all, lanes_down_4(all));
    all = Op::meet(all, lanes_down_2(all));
    return first_lane(Op::meet(all, lanes_down_1(all)));
}

}  // namespace tenon::cpu::TENON_CPU_SET
