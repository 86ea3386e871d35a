// Tensors from nothing: one value, or an arithmetic sequence.
#pragma once

#include <cstdint>

#include "tenon/core/dtype.h"

namespace tenon::cpu {

// Every element is `value`, converted to the dtype once.
void fill(void* to, DType dtype, int64_t count, double value);
// Element i is start + i·step, computed in f64 and rounded once.
void fill_sequence(void* to, DType dtype, int64_t count, double start, double step);

}  // namespace tenon::cpu
