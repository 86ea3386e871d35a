// The last layer and its loss on the CPU (docs/numerics.md, linear_cross_entropy).
#pragma once

#include <cstdint>

#include "tenon/core/tensor.h"

namespace tenon::cpu {

// x [N, C], weight [V, C] (any strides), target i64 [N]. loss 0-d; dx as x and dw as weight, contiguous, or both empty.
struct LinearCrossEntropy {
    Tensor x, weight, target;
    int64_t ignore_index = -100;
    double divisor = 0;  // 0: the number of rows that count
    bool with_gradients = false;
    Tensor loss, dx, dw;
};

// Throws Error(usage) for a target outside the vocabulary. Not f64.
void linear_cross_entropy(LinearCrossEntropy& call);
// What it means, as plain loops: the same bits. Any floating dtype.
void linear_cross_entropy_reference(LinearCrossEntropy& call);

// The divisor in use; checks the targets.
double resolve_divisor(const LinearCrossEntropy& call);

}  // namespace tenon::cpu
