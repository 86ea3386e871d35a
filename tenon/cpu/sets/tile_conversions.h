// 16-bit floats to f32 and back, over contiguous elements: exactly, and to nearest even.
#pragma once

#include <stdint.h>

// Included by sets/tile_conversions.cpp inside a set's namespace, and by elementwise.cpp for every set.
#define TENON_TILE_CONVERSIONS                                    \
    void widen_bf16(const uint16_t* from, float* to, int64_t n);  \
    void widen_f16(const uint16_t* from, float* to, int64_t n);   \
    void narrow_bf16(const float* from, uint16_t* to, int64_t n); \
    void narrow_f16(const float* from, uint16_t* to, int64_t n);
