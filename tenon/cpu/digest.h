// Digests of elements in memory (docs/numerics.md, Digests).
#pragma once

#include <cstdint>

#include "tenon/core/dtype.h"
#include "tenon/cpu/sets/digest.h"

namespace tenon::cpu {

// `count` elements, the first of which is element `offset` of the tensor that (n0, n1) name. On all threads.
DigestSums digest(const void* x, DType dtype, int64_t count, uint32_t n0, uint32_t n1, int64_t offset);
// The same, one word at a time, as the definition reads.
DigestSums digest_reference(const void* x, DType dtype, int64_t count, uint32_t n0, uint32_t n1, int64_t offset);

}  // namespace tenon::cpu
