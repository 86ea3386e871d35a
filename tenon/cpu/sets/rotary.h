// What register_rotary.cpp hands to the part compiled per instruction set. Plain data only.
#pragma once

#include "tenon/cpu/sets/gemm_tile.h"

namespace tenon::cpu {

// Rows of 2 half elements, x1 then x2:   y1 = x1 cos - x2 sin,   y2 = x2 cos + x1 sin.   `inverse` turns by -sin.
struct RotaryRows {
    Element type;
    const void* x;
    const float *cos, *sin;
    void* y;
    int64_t x_row, cos_row, sin_row, y_row, rows, half;
    bool inverse;
};

// cos and sin [positions, half] of position · frequency[i], that product rounded; positions first, first + 1, …
struct RotaryTables {
    const float* frequency;
    int64_t first, positions, half;
    float *cos, *sin;
};

}  // namespace tenon::cpu
