// Attention on the CPU (docs/numerics.md, Attention): tiles over the micro-kernel, and the same in plain loops.
// Shapes and arguments: ops/attention.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/core/random.h"
#include "tenon/core/tensor.h"
#include "tenon/ops/attention.h"

namespace tenon::cpu {

// The arguments of attention_forward and attention_backward beside their large tensors.
struct AttentionCall {
    ops::AttentionSizes size;
    double scale = 1;  // resolved; the kernels round it to their type
    bool causal = false;
    double dropout_p = 0;
    Draw draw;
    Tensor document_starts;  // i64 [batch, keys], or undefined
};

// Keys [first_key, first_key + keys) of one sequence that see each other, and the query rows that stand in them.
// Query row `first_query` stands at key first_key + position (before the first key where position is negative).
struct Document {
    int64_t batch, first_key, keys, first_query, queries, position;
};
// Throws Error(usage) with the place where document_starts makes no sense.
std::vector<Document> documents(const AttentionCall& call);

// q [B, H, Tq, D], k, v [B, Hkv, Tk, D]; out as q; lse [B, H, Tq]. out and lse contiguous, the others with any strides.
void attention_forward(const AttentionCall& call, const Tensor& q, const Tensor& k, const Tensor& v, Tensor& out,
                       Tensor& lse);
struct AttentionGradient {
    Tensor grad, q, k, v, out, lse, grad_lse;  // grad_lse may be undefined
    Tensor dq, dk, dv;                         // results, contiguous
};
void attention_backward(const AttentionCall& call, AttentionGradient& g);

// The same over the first call.size.keys keys of the caches (ops::key_cache_shape, value_cache_shape).
void attention_cached(const AttentionCall& call, const Tensor& q, const Tensor& cache_k, const Tensor& cache_v,
                      Tensor& out);
// Writes k, v [B, Hkv, T, D] into the caches from position `start`.
void kv_append(const Tensor& cache_k, const Tensor& cache_v, const Tensor& k, const Tensor& v, int64_t start);

// The meaning of the three, as plain loops: the same bits. Any floating dtype.
void attention_forward_reference(const AttentionCall& call, const Tensor& q, const Tensor& k, const Tensor& v,
                                 Tensor& out, Tensor& lse);
void attention_backward_reference(const AttentionCall& call, AttentionGradient& g);
// k or v [B, Hkv, keys, D] as they stand in a cache, contiguous.
Tensor keys_in_cache(const Tensor& cache_k, int64_t keys);
Tensor values_in_cache(const Tensor& cache_v, int64_t keys, int64_t head_dim);

}  // namespace tenon::cpu
