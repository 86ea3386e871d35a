#include "tenon/cpu/sets/tile_conversions.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

TENON_TILE_CONVERSIONS

void widen_bf16(const uint16_t* from, float* to, int64_t n) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) store(to + i, load_bf16(from + i));
    const int rest = static_cast<int>(n - i);
    if (rest > 0) store_partial(to + i, load_bf16_partial(from + i, rest), rest);
}

void widen_f16(const uint16_t* from, float* to, int64_t n) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) store(to + i, load_f16(from + i));
    const int rest = static_cast<int>(n - i);
    if (rest > 0) store_partial(to + i, load_f16_partial(from + i, rest), rest);
}

void narrow_bf16(const float* from, uint16_t* to, int64_t n) {
    int64_t i = 0;
    for (; TENON_FAULT(bf16_truncates) && i < n; ++i) {
        uint32_t bits;
        memcpy(&bits, from + i, 4);
        to[i] = static_cast<uint16_t>(bits >> 16);
    }
    for (; i + 16 <= n; i += 16) store_bf16(to + i, load(from + i));
    const int rest = static_cast<int>(n - i);
    if (rest > 0) store_bf16_partial(to + i, load_partial(from + i, rest), rest);
}

void narrow_f16(const float* from, uint16_t* to, int64_t n) {
    int64_t i = 0;
    for (; TENON_FAULT(f16_truncates) && i < n; ++i) {
        store_f16_partial(to + i, load_partial(from + i, 1), 1);
        const float rounded = first_lane(load_f16_partial(to + i, 1));
        if (__builtin_fabsf(rounded) > __builtin_fabsf(from[i])) --to[i];
    }
    for (; i + 16 <= n; i += 16) store_f16(to + i, load(from + i));
    const int rest = static_cast<int>(n - i);
    if (rest > 0) store_f16_partial(to + i, load_partial(from + i, rest), rest);
}

}  // namespace tenon::cpu::TENON_CPU_SET
