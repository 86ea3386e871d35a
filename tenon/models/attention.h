// The shapes around attention that every family shares.
#pragma once

#include "tenon/models/causal_lm.h"

namespace tenon::models {

// [B, T, heads·D] -> [B, heads, T, D], a view; and back, a copy.
Tensor split_heads(const Tensor& x, int64_t heads);
Tensor merge_heads(const Tensor& x);

// Causal attention of q [B, H, T, D] over k, v [B, Hkv, T, D], scaled by 1/√D. With a cache, k and v are appended to
// the layer's first and the whole past is attended to.
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, double dropout, KvCache* cache, int64_t layer);

// Throws when tokens are no [B, T] or leave the model's positions.
void check_positions(const CausalLM& model, const Tensor& tokens, const KvCache* cache);

}  // namespace tenon::models
