#include "tenon/models/attention.h"

#include <cmath>

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"

namespace tenon::models {

Tensor split_heads(const Tensor& x, int64_t heads) {
    return ops::transpose(ops::view(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

Tensor merge_heads(const Tensor& x) {
    return ops::reshape(ops::transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, double dropout, KvCache* cache, int64_t layer) {
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
    if (cache == nullptr) return ops::attention(q, k, v, {}, true, scale, dropout);
    const ops::NoGrad guard;
    Tensor& keys = cache->keys[static_cast<size_t>(layer)];
    Tensor& values = cache->values[static_cast<size_t>(layer)];
    ops::kv_append(keys, values, k, v, cache->length);
    return ops::attention_cached(q, keys, values, cache->length + k.size(2), scale);
}

void check_positions(const CausalLM& model, const Tensor& tokens, const KvCache* cache) {
    if (tokens.rank() != 2 || tokens.dtype() != DType::i64) {
        throw Error(Code::usage, "model", "tokens are " + describe(tokens) + "; expected i64[batch, length]");
    }
    const int64_t end = tokens.size(1) + (cache == nullptr ? 0 : cache->length);
    const int64_t most = cache == nullptr ? model.sizes().max_positions : cache->capacity;
    if (end > most) {
        throw Error(Code::usage, "model",
                    "position " + std::to_string(end - 1) + " is beyond the " + std::to_string(most) +
                        (cache == nullptr ? " of the model" : " of the cache"));
    }
}

}  // namespace tenon::models
