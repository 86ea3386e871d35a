#include "tenon/cpu/digest.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(TENON_DIGEST_FUNCTIONS)

namespace {

constexpr int64_t tile = int64_t{16} << 10;

Words words_of(DType dtype) {
    switch (dtype) {
        case DType::f64:
            return Words::f64;
        case DType::f32:
            return Words::f32;
        case DType::f16:
            return Words::f16;
        case DType::bf16:
            return Words::bf16;
        case DType::i64:
            return Words::i64;
        case DType::i32:
            return Words::i32;
        case DType::u8:
        case DType::boolean:
            break;
    }
    return Words::u8;
}

// Calls body(start, length) for parts within which the low half of the word index does not wrap.
template <typename Body>
void cut_where_low_half_wraps(int64_t first, int64_t count, int64_t words_each, Body body) {
    const int64_t period = (int64_t{1} << 32) / words_each;
    while (count > 0) {
        const int64_t length = std::min(count, period - first % period);
        body(first, length);
        first += length;
        count -= length;
    }
}

bool is_nan(uint64_t bits, DType dtype) {
    switch (dtype) {
        case DType::f64:
            return (bits & ~uint64_t{0} >> 1) > 0x7ff0000000000000;
        case DType::f32:
            return (bits & 0x7fffffff) > 0x7f800000;
        case DType::f16:
            return (bits & 0x7fff) > 0x7c00;
        case DType::bf16:
            return (bits & 0x7fff) > 0x7f80;
        default:
            return false;
    }
}

uint64_t canonical_nan(DType dtype) {
    switch (dtype) {
        case DType::f64:
            return 0x7ff8000000000000;
        case DType::f32:
            return 0x7fc00000;
        case DType::f16:
            return 0x7e00;
        default:
            return 0x7fc0;
    }
}

}  // namespace

DigestSums digest(const void* x, DType dtype, int64_t count, uint32_t n0, uint32_t n1, int64_t offset) {
    const int64_t words_each = size_of(dtype) == 8 ? 2 : 1;
    // Relaxed: sums modulo 2^64 meet in any order, and parallel_for's end orders the read.
    std::atomic<uint64_t> first{0};
    std::atomic<uint64_t> second{0};
    parallel_for((count + tile - 1) / tile, [&](int64_t t) {
        const int64_t begin = t * tile;
        cut_where_low_half_wraps(offset + begin, std::min(tile, count - begin), words_each,
                                 [&](int64_t at, int64_t length) {
                                     const DigestSums sums = TENON_SELECT(digest_words)(
                                         words_of(dtype), static_cast<const char*>(x) + (at - offset) * size_of(dtype),
                                         length, static_cast<uint64_t>(at * words_each), n0, n1);
                                     first.fetch_add(sums.first, std::memory_order_relaxed);
                                     second.fetch_add(sums.second, std::memory_order_relaxed);
                                 });
    });
    return {first.load(std::memory_order_relaxed), second.load(std::memory_order_relaxed)};
}

DigestSums digest_reference(const void* x, DType dtype, int64_t count, uint32_t n0, uint32_t n1, int64_t offset) {
    DigestSums sums;
    const int64_t words_each = size_of(dtype) == 8 ? 2 : 1;
    for (int64_t j = 0; j < count; ++j) {
        uint64_t bits = 0;
        std::memcpy(&bits, static_cast<const char*>(x) + j * size_of(dtype), static_cast<size_t>(size_of(dtype)));
        if (is_nan(bits, dtype)) bits = canonical_nan(dtype);
        for (int64_t half = 0; half < words_each; ++half) {
            const auto word = static_cast<uint32_t>(bits >> (32 * half));
            const auto i = static_cast<uint64_t>((offset + j) * words_each + half);
            uint32_t k = n0 + static_cast<uint32_t>(i) + static_cast<uint32_t>(i >> 32) * 0x9e3779b9U;
            k *= 0x85ebca6bU;
            k ^= k >> 15;
            k *= 0xc2b2ae35U;
            k ^= k >> 16;
            sums.first += uint64_t{word} * (k | 1U);
            sums.second += uint64_t{word} * (((k * 0x27d4eb2fU) ^ n1) | 1U);
        }
    }
    return sums;
}

}  // namespace tenon::cpu
