// What the ordinary part of attention (attention.cpp) hands to the part compiled per instruction set
// (sets/attention_*.cpp). Plain data only: both sides include this.
//
// Work is one document at a time: its keys are numbered from 0, and query row i sees the keys [0, visible(i)).
#pragma once

#include <stdint.h>

#include "tenon/cpu/sets/gemm_tile.h"

namespace tenon::cpu {

// Keys in a chunk of the online softmax, by position within the document (docs/numerics.md).
constexpr int64_t kAttentionChunk = 128;
// Query rows of a tile: whole micro-kernel blocks of 14 and of 6.
constexpr int64_t kAttentionRows = 42;
// Keys of a tile of the gradient: whole vectors of 16 and whole blocks of 14 rows.
constexpr int64_t kAttentionKeys = 112;

// The rows of one head: element (row, d) at data[row * row_stride + d * column_stride].
struct HeadRows {
    const void* data;
    int64_t row_stride, column_stride;
    Element type;
};

// Which keys each query row sees: min(first + (causal ? row : 0), keys), at least none.
struct Visible {
    int64_t first, keys;
    bool causal;
};

// Weight (row, key) is kept when word first + row * row_stride + key of the draw is at least threshold, and then
// multiplied by scale. threshold 0: no dropout.
struct WeightDropout {
    uint64_t threshold;
    uint64_t key;
    uint32_t step, leaf;
    float scale;
    int64_t first, row_stride;
};

// A block of query rows of one head against all keys they see.
struct AttentionForward {
    int64_t rows, head_dim;
    Visible visible;
    const float* q;  // element (row, d) at q[row * q_row + d * q_column]
    int64_t q_row, q_column;
    const float* key_panels;  // [panel][head_dim][16]
    int64_t first_key;        // where the document starts in them
    const float* v;           // the document's first row; readable to whole vectors
    int64_t v_row;
    void* out;
    int64_t out_row;
    Element out_type;
    float* lse;
    float scale;
    WeightDropout dropout;
    float* scratch;  // attention_forward_scratch(head_dim) floats
};

// All query rows of the query heads that share one KV head, within one document. Rows are readable to whole vectors.
// Keys [first_key, end_key) of it; and whether dq is wanted, which continues over all keys, and dk and dv.
struct AttentionBackward {
    int64_t queries, head_dim, group;
    int64_t first_key, end_key;
    bool wants_dq, wants_dk_dv;
    Visible visible;
    const float *q, *grad, *k, *v;
    int64_t q_head, q_row, grad_head, grad_row, k_row, v_row;  // *_head: from one query head to the next
    const float *lse, *delta;
    int64_t lse_head;
    float* dq;  // whole vectors a row
    int64_t dq_head, dq_row;
    void *dk, *dv;  // rows of head_dim
    int64_t dk_row;
    Element dk_type;
    float scale;
    WeightDropout dropout;
    int64_t dropout_head;
    float* scratch;  // attention_backward_scratch(head_dim) floats
};

}  // namespace tenon::cpu
