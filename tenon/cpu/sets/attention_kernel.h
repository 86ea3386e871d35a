// The products of attention: blocks of the micro-kernel whose B comes in vectors any distance apart (a key panel holds
// 16 keys), and whose rows do not all use the same part of k.
//
//     C[rows, 16 * vectors] = (+0, or what C holds) + sum over k ascending of A[row][k] * B[k][column], by fma
//
// C is whole vectors: what lies in lanes beyond the matrix does not matter.
#pragma once

#include "tenon/cpu/sets/attention_tile.h"
#include "tenon/cpu/sets/micro_kernel.h"

namespace tenon::cpu::TENON_CPU_SET {

struct Block {
    const float* a;
    int64_t a_row, a_k;
    const float* b;
    int64_t b_k, b_vector;
    float* c;
    int64_t c_row;
    bool continue_chain;
};

template <int MR, int NV>
TENON_INLINE void block(const Block& p, int64_t k) {
    Vec sum[MR][NV];
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) sum[i][v] = p.continue_chain ? load(p.c + i * p.c_row + kLanes * v) : zero();
    }
    const float *a = p.a, *b = p.b;
    const int64_t a_row = p.a_row, a_k = p.a_k, b_k = p.b_k, b_vector = p.b_vector;
    for (int64_t q = 0; q < k; ++q) {
        Vec right[NV];
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) right[v] = load(b + v * b_vector);
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
            const Vec left = broadcast(a[i * a_row]);
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) sum[i][v] = fma(left, right[v], sum[i][v]);
        }
        a += a_k;
        b += b_k;
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) store(p.c + i * p.c_row + kLanes * v, sum[i][v]);
    }
}

template <int MR, int NV>
TENON_INLINE void block_of(int64_t rows, const Block& p, int64_t k) {
    if (rows == MR) {
        block<MR, NV>(p, k);
    } else if constexpr (MR > 1) {
        block_of<MR - 1, NV>(rows, p, k);
    }
}

// rows in [1, kRows], vectors in [1, kVectors].
static inline __attribute__((noinline)) void multiply_block(int64_t rows, int vectors, const Block& p, int64_t k) {
    if (vectors == kVectors) return block_of<kRows, kVectors>(rows, p, k);
    if constexpr (kVectors > 1) block_of<kRows, 1>(rows, p, k);
}

TENON_INLINE int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
TENON_INLINE int64_t round_up(int64_t n, int64_t step) {
    return (n + step - 1) / step * step;
}
// The keys of [first, first + count) that a query row sees: it sees a leading part of them.
TENON_INLINE int64_t seen_of(const Visible& v, int64_t row, int64_t first, int64_t count) {
    const int64_t seen = least(v.first + (v.causal ? row : 0), v.keys) - first;
    return seen < 0 ? 0 : least(seen, count);
}

}  // namespace tenon::cpu::TENON_CPU_SET
