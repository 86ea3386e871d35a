// Keyed random numbers into memory, on all threads. docs/numerics.md, Randomness, fixes every bit.
#pragma once

#include <cstdint>

#include "tenon/core/dtype.h"
#include "tenon/core/random.h"

namespace tenon::cpu {

// Elements 0..count of the draw's stream, in order. Any floating dtype: made in f32, converted once.
void fill_uniform(const Draw& draw, void* to, DType dtype, int64_t count);
void fill_normal(const Draw& draw, double mean, double std, void* to, DType dtype, int64_t count);
// low + floor(word · n / 2^32); n in [1, 2^32].
void fill_integers(const Draw& draw, int64_t low, int64_t n, void* to, DType dtype, int64_t count);
// out[i] = word i >= round(p 2^32) ? x[i] · 1/(1 - p) : 0. The two may be the same.
void drop_elements(const Draw& draw, double p, const void* x, void* out, DType dtype, int64_t count);

// The same by plain loops over one word at a time: what the others mean.
void fill_uniform_reference(const Draw& draw, void* to, DType dtype, int64_t count);
void fill_normal_reference(const Draw& draw, double mean, double std, void* to, DType dtype, int64_t count);
void drop_elements_reference(const Draw& draw, double p, const void* x, void* out, DType dtype, int64_t count);

}  // namespace tenon::cpu
