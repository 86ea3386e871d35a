// The caches of generation: keys in blocks [head_dim][16 keys], values in rows of whole vectors (ops::key_cache_shape).
#include "tenon/cpu/access.h"
#include "tenon/cpu/attention.h"
#include "tenon/cpu/convert.h"

namespace tenon::cpu {

namespace {

char* at(const Tensor& x, int64_t offset) {
    return data<char>(x) + offset * size_of(x.dtype());
}

// Element (batch, head, position, 0) of the key cache; the row goes on strides()[3] elements apart.
int64_t key_offset(const Tensor& cache, int64_t batch, int64_t head, int64_t position) {
    const Dims& s = cache.strides();
    return batch * s[0] + head * s[1] + position / 16 * s[2] + position % 16 * s[4];
}

}  // namespace

void kv_append(const Tensor& cache_k, const Tensor& cache_v, const Tensor& k, const Tensor& v, int64_t start) {
    const int64_t heads = k.size(1), rows = k.size(2), dim = k.size(3);
    const auto row = [&](int64_t i) {
        const int64_t t = i % rows, h = i / rows % heads, b = i / rows / heads;
        const Dims &ks = k.strides(), &vs = v.strides(), &cs = cache_v.strides();
        convert_row(at(k, b * ks[0] + h * ks[1] + t * ks[2]), k.dtype(), ks[3],
                    at(cache_k, key_offset(cache_k, b, h, start + t)), cache_k.dtype(), cache_k.strides()[3], dim);
        convert_row(at(v, b * vs[0] + h * vs[1] + t * vs[2]), v.dtype(), vs[3],
                    at(cache_v, b * cs[0] + h * cs[1] + (start + t) * cs[2]), cache_v.dtype(), cs[3], dim);
    };
    for (int64_t i = 0; i < k.size(0) * heads * rows; ++i) row(i);
}

Tensor keys_in_cache(const Tensor& cache_k, int64_t keys) {
    const int64_t batch = cache_k.size(0), heads = cache_k.size(1), dim = cache_k.size(3);
    Tensor all({batch, heads, keys, dim}, cache_k.dtype(), Device::cpu);
    for (int64_t i = 0; i < batch * heads * keys; ++i) {
        convert_row(at(cache_k, key_offset(cache_k, i / keys / heads, i / keys % heads, i % keys)), cache_k.dtype(),
                    cache_k.strides()[3], at(all, i * dim), all.dtype(), 1, dim);
    }
    return all;
}

Tensor values_in_cache(const Tensor& cache_v, int64_t keys, int64_t head_dim) {
    Shape shape = cache_v.shape();
    shape[2] = keys;
    shape[3] = head_dim;
    return Tensor(cache_v, shape, cache_v.strides(), 0);
}

}  // namespace tenon::cpu
