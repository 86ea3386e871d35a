// Attention as plain loops over one number type: what the kernels mean, and the path of f64.
#include <algorithm>
#include <limits>

#include "tenon/cpu/attention.h"
#include "tenon/cpu/attention_numbers.h"
#include "tenon/cpu/reference_sum.h"
#include "tenon/cpu/reference_values.h"

namespace tenon::cpu {

namespace {

constexpr int64_t kChunk = 128;  // keys, by position in the document

template <class T>
struct Weights {
    uint64_t threshold;
    T kept;
    Draw draw;
    explicit Weights(const AttentionCall& call)
        : threshold(dropout_threshold(call.dropout_p)),
          kept(static_cast<T>(1 / (1 - call.dropout_p))),
          draw(call.draw) {}
    // A weight (or its gradient) after dropout; element index as docs/numerics.md has it.
    T drop(T value, int64_t index) const {
        if (threshold == 0) return value;
        return random_word(draw, index) >= threshold ? value * kept : T(0);
    }
};

struct Span {
    int64_t first = 0, end = 0;
};

// The keys that each query of each sequence sees.
std::vector<Span> visible_keys(const AttentionCall& call) {
    std::vector<Span> spans(static_cast<size_t>(call.size.batch * call.size.queries));
    for (const Document& d : documents(call)) {
        for (int64_t i = 0; i < d.queries; ++i) {
            const int64_t seen = call.causal ? std::clamp<int64_t>(d.position + i + 1, 0, d.keys) : d.keys;
            spans[static_cast<size_t>(d.batch * call.size.queries + d.first_query + i)] = {d.first_key,
                                                                                           d.first_key + seen};
        }
    }
    return spans;
}

// One row: q [D] against keys k [n, D] and v [n, D]; out [D]; returns lse. `index` is the dropout index of key 0.
template <class T>
T forward_row(const T* q, const T* k, const T* v, int64_t n, int64_t dim, T scale, const Weights<T>& weights,
              int64_t index, T* out) {
    std::vector<T> sum(static_cast<size_t>(dim)), part(static_cast<size_t>(dim));
    T top = 0, length = 0, s[kChunk];
    for (int64_t first = 0; first < n; first += kChunk) {
        const int64_t count = std::min(kChunk, n - first);
        T m = -std::numeric_limits<T>::infinity();
        for (int64_t j = 0; j < count; ++j) {
            s[j] = numbers::chain(q, 1, k + (first + j) * dim, 1, dim) * scale;
            m = numbers::maximum(m, s[j]);
        }
        const T l = reference_sum<T>(count, [&](int64_t j) { return s[j] = numbers::exp(s[j] - m); });
        for (int64_t j = 0; j < count; ++j) s[j] = weights.drop(s[j], index + first + j);
        for (int64_t d = 0; d < dim; ++d) {
            part[static_cast<size_t>(d)] = numbers::chain(s, 1, v + first * dim + d, dim, count);
        }
        if (first == 0) {
            top = m, length = l, sum = part;
            continue;
        }
        const T both = numbers::maximum(top, m);
        const T alpha = top == both ? T(1) : numbers::exp(top - both), beta = m == both ? T(1) : numbers::exp(m - both);
        length = numbers::fma(length, alpha, l * beta);
        for (size_t d = 0; d < sum.size(); ++d) sum[d] = numbers::fma(sum[d], alpha, part[d] * beta);
        top = both;
    }
    const T inverse = T(1) / length;
    for (int64_t d = 0; d < dim; ++d) out[d] = n > 0 ? sum[static_cast<size_t>(d)] * inverse : T(0);
    return n > 0 ? top + numbers::log(length) : -std::numeric_limits<T>::infinity();
}

template <class T>
void forward(const AttentionCall& call, const Tensor& q, const Tensor& k, const Tensor& v, Tensor& out, Tensor& lse) {
    const ops::AttentionSizes& s = call.size;
    const std::vector<T> queries = reference_values<T>(q), keys = reference_values<T>(k),
                         values = reference_values<T>(v);
    std::vector<T> results(queries.size()), sums(static_cast<size_t>(s.batch * s.heads * s.queries));
    const auto spans = visible_keys(call);
    const Weights<T> weights(call);
    for (int64_t row = 0; row < s.batch * s.heads * s.queries; ++row) {
        const int64_t i = row % s.queries, b = row / s.queries / s.heads, h = row / s.queries % s.heads;
        const Span span = spans[static_cast<size_t>(b * s.queries + i)];
        const int64_t first = ((b * s.kv_heads + h / s.group()) * s.keys + span.first) * s.head_dim;
        sums[static_cast<size_t>(row)] =
            forward_row(queries.data() + row * s.head_dim, keys.data() + first, values.data() + first,
                        span.end - span.first, s.head_dim, static_cast<T>(call.scale), weights,
                        row * s.keys + span.first, results.data() + row * s.head_dim);
    }
    store_reference(out, results);
    store_reference(lse, sums);
}

// dq, dk, dv of every (query, key) that counts, in the order of docs/numerics.md: for a KV head, its query heads, then
// queries, then keys, ascending.
template <class T>
void backward(const AttentionCall& call, AttentionGradient& g) {
    const ops::AttentionSizes& s = call.size;
    const int64_t dim = s.head_dim;
    const std::vector<T> grad = reference_values<T>(g.grad), q = reference_values<T>(g.q), k = reference_values<T>(g.k),
                         v = reference_values<T>(g.v), out = reference_values<T>(g.out),
                         lse = reference_values<T>(g.lse),
                         grad_lse = g.grad_lse.defined() ? reference_values<T>(g.grad_lse) : std::vector<T>();
    std::vector<T> dq(q.size()), dk(k.size()), dv(v.size());
    const auto spans = visible_keys(call);
    const Weights<T> weights(call);
    const T scale = static_cast<T>(call.scale);
    for (int64_t row = 0; row < s.batch * s.heads * s.queries; ++row) {
        const int64_t i = row % s.queries, b = row / s.queries / s.heads, h = row / s.queries % s.heads;
        const T *q_row = q.data() + row * dim, *grad_row = grad.data() + row * dim, *out_row = out.data() + row * dim;
        T delta = reference_sum<T>(dim, [&](int64_t d) { return grad_row[d] * out_row[d]; });
        if (!grad_lse.empty()) delta = delta - grad_lse[static_cast<size_t>(row)];
        const Span span = spans[static_cast<size_t>(b * s.queries + i)];
        for (int64_t j = span.first; j < span.end; ++j) {
            const int64_t key = ((b * s.kv_heads + h / s.group()) * s.keys + j) * dim;
            const T p =
                numbers::exp(numbers::chain(q_row, 1, k.data() + key, 1, dim) * scale - lse[static_cast<size_t>(row)]);
            const T dp = weights.drop(numbers::chain(grad_row, 1, v.data() + key, 1, dim), row * s.keys + j);
            const T weight = weights.drop(p, row * s.keys + j), ds = p * (dp - delta);
            for (int64_t d = 0; d < dim; ++d) {
                T &x = dq[static_cast<size_t>(row * dim + d)], &y = dk[static_cast<size_t>(key + d)],
                  &z = dv[static_cast<size_t>(key + d)];
                x = numbers::fma(ds, k[static_cast<size_t>(key + d)], x);
                y = numbers::fma(ds, q_row[d], y);
                z = numbers::fma(weight, grad_row[d], z);
            }
        }
    }
    for (T& x : dq) x = x * scale;
    for (T& x : dk) x = x * scale;
    store_reference(g.dq, dq);
    store_reference(g.dk, dk);
    store_reference(g.dv, dv);
}

}  // namespace

void attention_forward_reference(const AttentionCall& call, const Tensor& q, const Tensor& k, const Tensor& v,
                                 Tensor& out, Tensor& lse) {
    const auto run = q.dtype() == DType::f64 ? forward<double> : forward<float>;
    run(call, q, k, v, out, lse);
}

void attention_backward_reference(const AttentionCall& call, AttentionGradient& g) {
    const auto run = g.q.dtype() == DType::f64 ? backward<double> : backward<float>;
    run(call, g);
}

}  // namespace tenon::cpu
