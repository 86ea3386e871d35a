// What copy.cpp hands to the part compiled per instruction set. Plain data only.
#pragma once

#include <stdint.h>

// to[r * to_stride + c] = from[c * from_stride + r] for r in [0, rows), c in [0, columns): words of 32 bits, halves
// of 16.
#define TENON_TRANSPOSE_FUNCTIONS                                                                                   \
    void transpose_words(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride, int64_t rows,  \
                         int64_t columns);                                                                          \
    void transpose_halves(const uint16_t* from, int64_t from_stride, uint16_t* to, int64_t to_stride, int64_t rows, \
                          int64_t columns);
