// What the ordinary part of the matrix product (gemm.cpp) hands to the part compiled per instruction set
// (sets/gemm.cpp). Plain data only: both sides include this.
#pragma once

#include <stdint.h>

namespace tenon::cpu {

enum class Element : uint8_t { f32, bf16, f16 };

// What happens to the chain that a tile computed:
// overwrite       C = chain from +0
// continue_chain  C holds the f32 partial of the same chain, which goes on from there (K blocking, row chunks); f32 C
// add             C = C + finished chain, one rounding, as autograd's `+`
enum class Store : uint8_t { overwrite, continue_chain, add };

// C[batch][m][n] from A[batch][m][k] and B[batch][k][n]. Strides count elements and may be anything for A and B (0 and
// negative included); C's columns are adjacent. `bias`, when not null, is one f32 row added to each finished row of C
// (one more rounding, as autograd's `+`); for an f32 C and Store::overwrite.
struct Gemm {
    int64_t batch = 1, m = 0, n = 0, k = 0;
    const void* a = nullptr;
    int64_t a_batch = 0, a_row = 0, a_column = 0;
    const void* b = nullptr;
    int64_t b_batch = 0, b_row = 0, b_column = 0;
    void* c = nullptr;
    int64_t c_batch = 0, c_row = 0;
    Element a_type = Element::f32, b_type = Element::f32, c_type = Element::f32;
    Store store = Store::overwrite;
    const float* bias = nullptr;
};

// The sizes that a set's kernel works in: slivers of rows, panels of columns, and how far k goes in one step.
struct GemmBlocks {
    int64_t rows, columns, depth;
};

// One tile of C, by one thread: products [batch, batch + batches), rows [row, row + rows), columns and k likewise.
// A tile that starts behind k = 0 continues the chains in C. `packed_b`, when not null, is gemm_pack_b's result for
// these columns and this k (one batch, at most `depth` of k). `scratch` holds gemm_scratch(tile) floats, 64-byte
// aligned.
struct GemmTile {
    const Gemm* product;
    int64_t batch, batches, row, rows, column, columns, k_first, k_count;
    const float* packed_b;
    float* scratch;
};

// Whether the chains can grow in C itself, so that k may be cut into steps from outside.
constexpr bool chains_in_place(const Gemm& g) {
    return g.c_type == Element::f32 && g.store != Store::add;
}

}  // namespace tenon::cpu
