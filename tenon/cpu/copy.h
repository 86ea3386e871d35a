// The one routine that moves elements between layouts: any strides to any strides, on all threads.
#pragma once

#include <cstdint>

#include "tenon/core/tensor.h"

namespace tenon::cpu {

// Elements in memory: a first one, strides in elements.
struct Strided {
    void* data = nullptr;
    Dims strides;
    DType dtype = DType::f32;
};

// to[i] = from[i] for each index of `shape`, converted where the dtypes differ (convert.h). Strides of `from` may be 0.
// The two must not overlap. Equal dtypes move at memory speed: rows by memcpy, transposed pairs of dims by blocks.
void copy_strided(const Shape& shape, const Strided& from, const Strided& to);

// `to` has the shape of `from`.
void copy_elements(const Tensor& from, const Tensor& to);

Strided strided(const Tensor& tensor);

}  // namespace tenon::cpu
