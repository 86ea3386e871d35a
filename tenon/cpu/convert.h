// Elements of one dtype as another, between strided rows. One plain loop for the cases that need no speed: mixed dtypes
// in assign and cat, constants. The cast op has vector kernels.
#pragma once

#include <cstdint>

#include "tenon/core/dtype.h"

namespace tenon::cpu {

// Strides in elements. Floating to integer truncates toward zero (the target's minimum when it does not fit); to bool
// is "not zero"; 16-bit floats round once from f32.
void convert_row(const void* from, DType from_dtype, int64_t from_stride, void* to, DType to_dtype, int64_t to_stride,
                 int64_t count);

}  // namespace tenon::cpu
