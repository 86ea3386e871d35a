// What digest.cpp hands to the part compiled per instruction set. Plain data only.
#pragma once

#include <stdint.h>

namespace tenon::cpu {

// How an element becomes words: shorter types are zero-extended, NaNs become the canonical one.
enum class Words : uint8_t { u8, bf16, f16, i32, f32, i64, f64 };

// Two sums modulo 2^64. Integer arithmetic: any order and any cut give the same.
struct DigestSums {
    uint64_t first = 0, second = 0;
};

}  // namespace tenon::cpu

// The words of x[0, count), the first of which has index `word` in the whole tensor.
#define TENON_DIGEST_FUNCTIONS \
    DigestSums digest_words(Words type, const void* x, int64_t count, uint64_t word, uint32_t n0, uint32_t n1);
