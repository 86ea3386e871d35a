// A model that predicts the next token. What trainers and generators ask of any family.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/core/tensor.h"
#include "tenon/nn/module.h"

namespace tenon::models {

// Keys and values of one sequence batch, per layer, for generation without recomputing the past. The layout is
// attention's (see ops/attention.cpp).
struct KvCache {
    std::vector<Tensor> keys;
    std::vector<Tensor> values;
    int64_t length = 0;  // positions filled
    int64_t capacity = 0;
};

struct CausalLMSizes {
    int64_t vocabulary = 0;
    int64_t width = 0;
    int64_t layers = 0;
    int64_t heads = 0;
    int64_t kv_heads = 0;
    int64_t head_dim = 0;
    int64_t max_positions = 0;
};

class CausalLM : public nn::Module {
public:
    // The last hidden states, after the final norm.   tokens: i64 [B, T]   result: [B, T, width]
    // With a cache, tokens are the positions that follow cache->length; the cache grows by T.
    virtual Tensor hidden(const Tensor& tokens, KvCache* cache) = 0;
    // The output projection, [vocabulary, width]: a parameter of its own, or the embedding where they are tied.
    virtual const Tensor& head() const = 0;
    virtual CausalLMSizes sizes() const = 0;

    // Sum of −log p(target) over targets that are not -100, over divisor (0: over their number).
    // tokens, targets: i64 [B, T]   result: 0-d
    Tensor loss(const Tensor& tokens, const Tensor& targets, double divisor);
    // [B, T, vocabulary]
    Tensor logits(const Tensor& tokens, KvCache* cache = nullptr);
    // An empty cache for `batch` sequences of up to `capacity` positions.
    KvCache make_cache(int64_t batch, int64_t capacity) const;
};

}  // namespace tenon::models
