// What reductions.cpp hands to the part compiled per instruction set. Plain data only.
#pragma once

#include "tenon/cpu/sets/gemm_tile.h"

namespace tenon::cpu {

enum class Reduction : uint8_t { sum, maximum, minimum };

// out[r] from row r of x: n adjacent elements at x + r * row_stride. Any n (of a sum; at least 1 of the others).
struct ReduceRows {
    Reduction kind;
    Element type;
    const void* x;
    int64_t row_stride, rows, n;
    float* out;
};

constexpr int64_t kColumnTile = 64;

// out[c] from column c of at most 64, of at most 4096 rows: row i at x + offsets[i], its columns adjacent.
struct ReduceColumns {
    Reduction kind;
    Element type;
    const void* x;
    const int64_t* offsets;
    int64_t n, columns;
    float* out;
};

}  // namespace tenon::cpu
