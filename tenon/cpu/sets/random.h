// What random.cpp hands to the part compiled per instruction set. Plain data only.
#pragma once

#include <stdint.h>

namespace tenon::cpu {

struct Stream {
    uint64_t key;
    uint32_t step, leaf;
};

// Elements come in groups of 256 (64 counter blocks): `first` is a multiple of it, and every function handles elements
// [first, first + count) of a stream with pointers to the first of them.
constexpr int64_t kRandomGroup = 256;

}  // namespace tenon::cpu

#define TENON_RANDOM_FUNCTIONS                                                                                     \
    /* The words as they are. */                                                                                   \
    void random_words(const Stream& stream, int64_t first, int64_t count, uint32_t* out);                          \
    /* (word >> 8) 2^-24 */                                                                                        \
    void uniforms(const Stream& stream, int64_t first, int64_t count, float* out);                                 \
    /* mean + std z */                                                                                             \
    void normals(const Stream& stream, int64_t first, int64_t count, float mean, float std, float* out);           \
    /* word >= threshold ? x scale : 0 */                                                                          \
    void drop(const Stream& stream, int64_t first, int64_t count, uint32_t threshold, float scale, const float* x, \
              float* out);
