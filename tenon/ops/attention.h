// Sizes of an attention call and the memory its kernels take while they run: one text for the entries' costs and the
// CPU's kernels, so that what meta counts is what is taken.
#pragma once

#include <cstdint>

#include "tenon/ops/op.h"

namespace tenon::ops {

struct AttentionSizes {
    int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, head_dim = 0;
    int64_t group() const { return kv_heads == 0 ? 0 : heads / kv_heads; }  // query heads that share a key head
};
// q [B, H, Tq, D], k [B, Hkv, Tk, D].
AttentionSizes attention_sizes(const Tensor& q, const Tensor& k);

// The scale of the scores: the attribute, or 1/sqrt(head_dim) where it is 0. Computed in f64.
double attention_scale(double scale, int64_t head_dim);

// (query, key) pairs that count, over one head, without document starts.
double visible_pairs(int64_t queries, int64_t keys, bool causal);

constexpr int64_t round_up_to_lanes(int64_t n) {
    return (n + 15) / 16 * 16;
}

// Whether kernels read the rows of x [.., .., T, D] where they lie: f32, adjacent along D, and D a whole number of
// 16-lane vectors. Other rows are first copied, in f32, to rows of round_up_to_lanes(D).
bool has_vector_rows(const Tensor& x);
int64_t copied_row_bytes(const Tensor& x);

int64_t attention_forward_workspace(const Tensor& q, const Tensor& k, const Tensor& v);
int64_t attention_backward_workspace(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v);

// Shapes of the caches (see kv_cache).
Shape key_cache_shape(int64_t batch, int64_t kv_heads, int64_t keys, int64_t head_dim);
Shape value_cache_shape(int64_t batch, int64_t kv_heads, int64_t keys, int64_t head_dim);

}  // namespace tenon::ops
