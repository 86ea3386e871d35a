// 64-bit integers as tensors hold them: two's complement, wrapping. Used by the evaluator and by printed i64 kernels.
#pragma once

#include <cstdint>

namespace tenon::scalar {

inline int64_t integer_add(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t integer_sub(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t integer_mul(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline int64_t integer_neg(int64_t a) {
    return integer_sub(0, a);
}
inline int64_t integer_abs(int64_t a) {
    return a < 0 ? integer_neg(a) : a;
}
inline int64_t integer_fma(int64_t a, int64_t b, int64_t c) {
    return integer_add(integer_mul(a, b), c);
}
// a^b by squaring. A negative exponent gives the truncated 1 / a^-b: 0, or ±1 for a = ±1 (and 0 for a = 0).
inline int64_t integer_pow(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : (a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0);
    int64_t result = 1;
    for (; b > 0; b >>= 1) {
        if ((b & 1) != 0) result = integer_mul(result, a);
        a = integer_mul(a, a);
    }
    return result;
}

}  // namespace tenon::scalar
