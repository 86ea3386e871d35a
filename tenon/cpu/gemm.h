// Matrix products with a fixed order of summation (docs/numerics.md, Products).
//
//     C[batch][i][j]  <-  sum over k ascending of A[batch][i][k] * B[batch][k][j]
//
// Each output element is one chain of fused multiply-adds over k in ascending order, from +0. Tiles split the batch, m
// and n by shape alone; nothing splits k. So an element's bits depend only on its row of A, its column of B and k: not
// on the instruction set, threads, strides, blocking, or on how many other rows and columns there are.
// A, B f32, bf16 or f16 (converted exactly to f32 while packing); a 16-bit C rounds its finished f32 chain once.
#pragma once

#include <cstdint>

#include "tenon/cpu/sets/gemm_tile.h"

namespace tenon::cpu {

// Runs one product (Gemm, Element and Store are in sets/gemm_tile.h). Any of batch, m, n, k may be 0: with k = 0 the
// chains are the +0 they start from. C must not overlap A or B.
void gemm(const Gemm& product);

// The same product as plain loops, and the meaning of gemm: the same bits. For tests and for a forced provider.
void gemm_reference(const Gemm& product);

// Plain loops for the element types without a fast path, strides in elements as in Gemm. f64 chains use fma; integer
// products wrap. T is double, int64_t or int32_t.
template <class T>
struct PlainGemm {
    int64_t batch = 1, m = 0, n = 0, k = 0;
    const T* a = nullptr;
    int64_t a_batch = 0, a_row = 0, a_column = 0;
    const T* b = nullptr;
    int64_t b_batch = 0, b_row = 0, b_column = 0;
    T* c = nullptr;
    int64_t c_batch = 0, c_row = 0;
    Store store = Store::overwrite;
};
template <class T>
void gemm_reference(const PlainGemm<T>& product);

}  // namespace tenon::cpu
