#include "tenon/models/causal_lm.h"

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"

namespace tenon::models {

Tensor CausalLM::loss(const Tensor& tokens, const Tensor& targets, double divisor) {
    const Tensor states = hidden(tokens, nullptr);
    const Tensor rows = ops::reshape(states, {-1, states.size(-1)});
    return ops::linear_cross_entropy(rows, head(), ops::reshape(targets, {-1}), -100, divisor);
}

Tensor CausalLM::logits(const Tensor& tokens, KvCache* cache) {
    return ops::linear(hidden(tokens, cache), head());
}

KvCache CausalLM::make_cache(int64_t batch, int64_t capacity) const {
    const CausalLMSizes size = sizes();
    if (capacity > size.max_positions) {
        throw Error(Code::usage, "generate",
                    std::to_string(capacity) + " positions were asked for and the model has " +
                        std::to_string(size.max_positions));
    }
    KvCache cache;
    cache.capacity = capacity;
    for (int64_t layer = 0; layer < size.layers; ++layer) {
        cache.keys.push_back(ops::kv_cache(batch, size.kv_heads, capacity, size.head_dim, true));
        cache.values.push_back(ops::kv_cache(batch, size.kv_heads, capacity, size.head_dim, false));
    }
    return cache;
}

}  // namespace tenon::models
