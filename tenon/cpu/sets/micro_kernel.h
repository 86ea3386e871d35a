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

// A product of any size out of such blocks.
struct Product {
    int64_t rows, columns, k;
    const float* a;
    int64_t a_row, a_k;
    const float* b;
    int64_t b_k;      // from one row of B to the next
    int64_t b_panel;  // from one panel of kColumns columns to the next: kColumns where B is one row-major matrix
    float* c;
    int64_t c_row;
    bool continue_chain;
};

// Rows left over: 1 to kRows of them, NV vectors.
template <int MR, int NV>
TENON_INLINE void multiply_rows(int rows, int64_t k, const float* a, int64_t a_row, int64_t a_k, const float* b,
                                int64_t b_k, float* c, int64_t c_row, int columns, bool continue_chain) {
    if (rows == MR) {
        micro_kernel<MR, NV>(k, a, a_row, a_k, b, b_k, c, c_row, columns, continue_chain);
    } else if constexpr (MR > 1) {
        multiply_rows<MR - 1, NV>(rows, k, a, a_row, a_k, b, b_k, c, c_row, columns, continue_chain);
    }
}

// One panel of B (at most kColumns columns) against all rows of A, so that the panel stays in the nearest cache.
template <int NV>
TENON_INLINE void multiply_panel(const Product& p, const float* b, float* c, int columns) {
    for (int64_t i = 0; i < p.rows; i += kRows) {
        const int rows = static_cast<int>(p.rows - i < kRows ? p.rows - i : kRows);
        multiply_rows<kRows, NV>(rows, p.k, p.a + i * p.a_row, p.a_row, p.a_k, b, p.b_k, c + i * p.c_row, p.c_row,
                                 columns, p.continue_chain);
    }
}

template <int NV>
TENON_INLINE void multiply_narrow(const Product& p, const float* b, float* c, int columns) {
    if (columns > kLanes * (NV - 1)) {
        multiply_panel<NV>(p, b, c, columns);
    } else if constexpr (NV > 1) {
        multiply_narrow<NV - 1>(p, b, c, columns);
    }
}

static inline void multiply(const Product& p) {
    for (int64_t j = 0; j < p.columns; j += kColumns) {
        const int columns = static_cast<int>(p.columns - j < kColumns ? p.columns - j : kColumns);
        multiply_narrow<kVectors>(p, p.b + j / kColumns * p.b_panel, p.c + j, columns);
    }
}

}  // namespace tenon::cpu::TENON_CPU_SET
