// The micro-kernel under every product: GEMM, attention, linear + cross entropy.
//
//     C[rows x columns] = (+0, or what C holds) + sum over k ascending of A[row][k] * B[k][column], by fma
//
// One idea: a block of C stays in registers for the whole of k; each step of k loads NV vectors of B, broadcasts MR
// numbers of A, and does MR * NV fused multiply-adds. Each output is its own chain, so blocking changes no bit. All
// lanes belong to different columns; there is no horizontal step.
//
// A: element (i, k) at a[i * a_row + k * a_k]. Any strides; packed as [k][MR] is a_row = 1, a_k = MR.
// B: rows of adjacent columns, element (k, j) at b[k * b_k + j]. Each vector of 16 columns is read whole, so the memory
//    behind B must reach to the next multiple of 16 columns (what is there does not matter: those lanes are dropped).
// C: element (i, j) at c[i * c_row + j]; exactly `columns` columns are read and written.
#pragma once

#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

// The block whose accumulators fill the register file: 12 of 16 ymm, 28 of 32 zmm.
#if TENON_CPU_SET_avx512
constexpr int kRows = 14, kVectors = 2;
#elif TENON_CPU_SET_avx2
constexpr int kRows = 6, kVectors = 1;
#else
constexpr int kRows = 2, kVectors = 1;
#endif
constexpr int kColumns = kVectors * kLanes;
static_assert(kVectors <= 2, "multiply_panels ends with a panel of one vector");

// One block: MR rows, NV vectors; `columns` in (16 * (NV - 1), 16 * NV].
template <int MR, int NV>
TENON_INLINE void micro_kernel(int64_t k, const float* a, int64_t a_row, int64_t a_k, const float* b, int64_t b_k,
                               float* c, int64_t c_row, int columns, bool continue_chain) {
    Vec sum[MR][NV];
    const int last = columns - kLanes * (NV - 1);
    if (!continue_chain) {
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) sum[i][v] = zero();
        }
    } else if (last == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) sum[i][v] = load(c + i * c_row + kLanes * v);
        }
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 8
            for (int v = 0; v < NV - 1; ++v) sum[i][v] = load(c + i * c_row + kLanes * v);
            sum[i][NV - 1] = load_partial(c + i * c_row + kLanes * (NV - 1), last);
        }
    }
    for (int64_t q = 0; q < k; ++q) {
        Vec right[NV];
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) right[v] = load(b + kLanes * v);
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
            Vec left = broadcast(a[i * a_row]);
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) sum[i][v] = fma(left, right[v], sum[i][v]);
        }
        a += a_k;
        b += b_k;
    }
    if (last == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) store(c + i * c_row + kLanes * v, sum[i][v]);
        }
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
#pragma GCC unroll 8
            for (int v = 0; v < NV - 1; ++v) store(c + i * c_row + kLanes * v, sum[i][v]);
            store_partial(c + i * c_row + kLanes * (NV - 1), sum[i][NV - 1], last);
        }
    }
}

// Rows left over: 1 to MR of them.
template <int MR, int NV>
TENON_INLINE void multiply_rows(int64_t rows, int64_t k, const float* a, int64_t a_row, int64_t a_k, const float* b,
                                int64_t b_k, float* c, int64_t c_row, int columns, bool continue_chain) {
    if (rows == MR) {
        micro_kernel<MR, NV>(k, a, a_row, a_k, b, b_k, c, c_row, columns, continue_chain);
    } else if constexpr (MR > 1) {
        multiply_rows<MR - 1, NV>(rows, k, a, a_row, a_k, b, b_k, c, c_row, columns, continue_chain);
    }
}

// A product of any size. A is read in slivers of kRows rows, a_sliver apart; B in panels of kColumns columns, b_panel
// apart and readable to the next 16 columns.
//   where the matrices lie:  a_row, a_k their strides, a_sliver = kRows * a_row; b_k B's row stride, b_panel = kColumns
//   packed:                  a_row = 1, a_k = kRows; b_k = kColumns
struct Product {
    int64_t rows, columns, k;
    const float* a;
    int64_t a_row, a_k, a_sliver;
    const float* b;
    int64_t b_k, b_panel;
    float* c;
    int64_t c_row;
    bool continue_chain;
};

// One panel of B against all rows of A, so that the panel stays in the nearest cache. The strides come as arguments
// once more, because constants make a better loop.
template <int NV>
TENON_INLINE void multiply_panel(const Product& p, int64_t a_row, int64_t a_k, int64_t b_k, const float* b, float* c,
                                 int columns) {
    int64_t i = 0;
    const float* a = p.a;
    for (; i + kRows <= p.rows; i += kRows, a += p.a_sliver) {
        micro_kernel<kRows, NV>(p.k, a, a_row, a_k, b, b_k, c + i * p.c_row, p.c_row, columns, p.continue_chain);
    }
    if constexpr (kRows > 1) {
        if (i == p.rows) return;
        multiply_rows<kRows - 1, NV>(p.rows - i, p.k, a, a_row, a_k, b, b_k, c + i * p.c_row, p.c_row, columns,
                                     p.continue_chain);
    }
}

TENON_INLINE void multiply_panels(const Product& p, int64_t a_row, int64_t a_k, int64_t b_k) {
    int64_t j = 0;
    const float* b = p.b;
    for (; p.columns - j > kColumns - kLanes; j += kColumns, b += p.b_panel) {
        const int64_t left = p.columns - j;
        multiply_panel<kVectors>(p, a_row, a_k, b_k, b, p.c + j, static_cast<int>(left < kColumns ? left : kColumns));
    }
    if constexpr (kVectors > 1) {
        if (j < p.columns) multiply_panel<1>(p, a_row, a_k, b_k, b, p.c + j, static_cast<int>(p.columns - j));
    }
}

static inline void multiply(const Product& p) {
    if (p.a_row == 1 && p.a_k == kRows && p.b_k == kColumns) return multiply_panels(p, 1, kRows, kColumns);
    multiply_panels(p, p.a_row, p.a_k, p.b_k);
}

}  // namespace tenon::cpu::TENON_CPU_SET
