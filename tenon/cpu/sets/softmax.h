// What register_softmax.cpp and register_losses.cpp hand to the part compiled per instruction set. Plain data only. Row
// strides in elements; the elements of a row are adjacent.
#pragma once

#include "tenon/cpu/sets/gemm_tile.h"

namespace tenon::cpu {

// softmax: m = max, e = exp(x - m), y = e (1/sum(e)).   log_softmax: y = (x - m) - log(sum(e)).
struct SoftmaxRows {
    Element type;
    const void* x;
    void* y;
    int64_t x_row, y_row, rows, n;
    bool log;
    float* exponentials;  // n floats, for 16-bit softmax
};

// softmax: dx = y (g - sum(g y)).   log_softmax: dx = g - exp(y) sum(g).
struct SoftmaxGradientRows {
    Element type;
    const void *g, *y;
    void* dx;
    int64_t g_row, y_row, dx_row, rows, n;
    bool log;
};

// out[r] = m + log(sum(exp(x - m))), m = max where that is finite, else 0.
struct LogSumExpRows {
    Element type;
    const void* x;
    int64_t x_row, rows, n;
    float* out;
};

// L = m + log(sum(exp(z - m))), loss = L - z[target]. An ignored row has loss +0 and L = +infinity, so exp(z - L) is 0.
struct CrossEntropyRows {
    Element type;
    const void* z;
    int64_t z_row, rows, n;
    const int64_t* targets;
    int64_t ignore_index;
    float *loss, *lse;
};

// dz = ((exp(z - L) - [j = target]) scale) g; +0 in ignored rows.
struct CrossEntropyGradientRows {
    Element type;
    const void* z;
    int64_t z_row, rows, n;
    const int64_t* targets;
    int64_t ignore_index;
    const float* lse;
    float scale, g;
    void* dz;  // rows adjacent
};

}  // namespace tenon::cpu
