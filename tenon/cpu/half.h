// One 16-bit float at a time, by integer arithmetic: the scalar truth that the vector conversions are tested against.
// To f32 exactly; from f32 to nearest even; NaN becomes the canonical one (0x7fc0, 0x7e00).
#pragma once

#include <bit>
#include <cstdint>

namespace tenon::cpu {

inline float bf16_to_float(uint16_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t float_to_bf16(float value) {
    const auto u = std::bit_cast<uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
    return static_cast<uint16_t>((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

// f16: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits.
inline float f16_to_float(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, exponent = bits >> 10 & 31u,
                   fraction = bits & 1023u;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112u) << 23 | fraction << 13);
    const float small = static_cast<float>(fraction) * 0x1p-24f;  // exact
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(small));
}

inline uint16_t float_to_f16(float value) {
    const auto u = std::bit_cast<uint32_t>(value);
    const uint32_t sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7e00;
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity
    // Right shift that rounds to nearest even. Normal: drop 13 bits. Subnormal: the value in units of 2^-24.
    uint32_t kept = magnitude, dropped = 13;
    if (magnitude < 0x38800000u) {
        const uint32_t exponent = magnitude >> 23;
        if (exponent < 102) return static_cast<uint16_t>(sign);  // below half of the least subnormal
        kept = (magnitude & 0x7fffffu) | 0x800000u;
        dropped = 126 - exponent;
    } else {
        kept -= 112u << 23;
    }
    const uint32_t odd = kept >> dropped & 1u, half = 1u << (dropped - 1);
    return static_cast<uint16_t>(sign | (kept + half - 1u + odd) >> dropped);
}

}  // namespace tenon::cpu
