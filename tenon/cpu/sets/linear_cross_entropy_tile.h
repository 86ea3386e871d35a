// What linear_cross_entropy.cpp hands to the part compiled per instruction set. Plain data only.
#pragma once

#include <stdint.h>

namespace tenon::cpu {

// Rows of logits [rows, vocabulary], row_stride floats apart.
struct LogitRows {
    float* logits;
    int64_t rows, vocabulary, row_stride;
    const int64_t* target;
    int64_t target_stride, ignore_index;
    float* loss;            // of each row; 0 where ignored
    bool with_gradients;    // whether the logits become their gradients
    float divisor_inverse;  // f32(1 / divisor)
};

}  // namespace tenon::cpu
