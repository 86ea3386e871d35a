// What register_norms.cpp hands to the part compiled per instruction set. Plain data only. Row strides in elements; the
// elements of a row are adjacent; outputs' rows too. weight and bias may be null.
#pragma once

#include "tenon/cpu/sets/gemm_tile.h"

namespace tenon::cpu {

// r = 1/sqrt(sum(x x)/n + eps), y = (x r) w.   For layer_norm c = x - mean stands for x, and y = (c r) w + b.
struct NormRows {
    Element type;
    const void* x;
    int64_t x_row, rows, n;
    const void *weight, *bias;
    float eps;
    void* y;
    float *mean, *r;  // by row; mean of layer_norm only
};

// The gradient of `lanes` (1 or 2) rows that follow each other, and of those 16, 32, … rows below: `steps` of each.
// With h = x r (or (x - mean) r) and gw = g w:   dx = (gw - h (sum(gw h)/n)) r, for layer_norm ((gw - sum(gw)/n) - h
// (sum(gw h)/n)) r. g h is added to weight_sums, g to bias_sums, f32 [lanes, n] each, where they are not null.
struct NormGradientRows {
    Element type;
    const void *g, *x;
    int64_t g_row, x_row, n;
    const void* weight;
    const float *mean, *r;  // of the first row
    void* dx;
    int64_t lanes, steps;
    float *weight_sums, *bias_sums;
};

}  // namespace tenon::cpu
