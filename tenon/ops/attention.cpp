// Attention, its gradient, and the caches that generation keeps. The order of every sum: docs/numerics.md, Attention.
#include "tenon/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/error.h"
#include "tenon/core/random.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

AttentionSizes attention_sizes(const Tensor& q, const Tensor& k) {
    return {q.size(0), q.size(1), k.size(1), q.size(2), k.size(2), q.size(3)};
}

double attention_scale(double scale, int64_t head_dim) {
    return scale != 0 || head_dim == 0 ? scale : 1 / std::sqrt(static_cast<double>(head_dim));
}

double visible_pairs(int64_t queries, int64_t keys, bool causal) {
    if (!causal) return static_cast<double>(queries) * static_cast<double>(keys);
    // Query i sees keys - queries + i + 1 of them, at least none: an arithmetic series.
    const auto seeing = static_cast<double>(std::min(queries, keys));
    return seeing * (static_cast<double>(keys) - (seeing - 1) / 2);
}

bool has_vector_rows(const Tensor& x) {
    return x.dtype() == DType::f32 && (x.strides()[3] == 1 || x.size(3) == 1) && x.size(3) % 16 == 0;
}

int64_t copied_row_bytes(const Tensor& x) {
    if (has_vector_rows(x)) return 0;
    return x.size(0) * x.size(1) * x.size(2) * round_up_to_lanes(x.size(3)) * 4;
}

int64_t attention_forward_workspace(const Tensor& q, const Tensor& k, const Tensor& v) {
    if (q.dtype() == DType::f64) return 0;
    const int64_t panels = k.size(0) * k.size(1) * round_up_to_lanes(k.size(2)) * k.size(3) * 4;
    return panels + copied_row_bytes(v);
}

int64_t attention_backward_workspace(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v) {
    if (q.dtype() == DType::f64) return 0;
    const int64_t rows = q.size(0) * q.size(1) * q.size(2);
    const bool direct = q.dtype() == DType::f32 && q.size(3) % 16 == 0;
    const int64_t dq = direct ? 0 : rows * round_up_to_lanes(q.size(3)) * 4;
    const int64_t delta = round_up_to_lanes(rows) * 4;
    return delta + dq + copied_row_bytes(grad) + copied_row_bytes(q) + copied_row_bytes(k) + copied_row_bytes(v);
}

namespace {

[[noreturn]] void refuse(const Call& call, const std::string& message) {
    throw Error(Code::usage, call.op.name(), message);
}

// A gradient of the gradient would be silently missing.
void refuse_second_derivative(const Backward& b) {
    if (grad_enabled()) throw Error(Code::usage, b.op.name(), "second derivatives come later");
}

// Slots of the attributes that attention_forward and attention_backward share.
enum Slot { causal = 0 };
enum RealSlot { scale = 0, dropout_p = 1 };

void check_heads(const Call& call, const Tensor& q, const Tensor& k, const Tensor& v) {
    if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) {
        refuse(call, "q, k and v have dims [batch, heads, positions, head_dim]; they are " + describe(q) + ", " +
                         describe(k) + ", " + describe(v));
    }
    if (!is_floating(q.dtype()) || k.dtype() != q.dtype() || v.dtype() != q.dtype()) {
        refuse(call, "q, k and v share one floating dtype; they are " + describe(q) + ", " + describe(k) + ", " +
                         describe(v) + "; cast them first");
    }
    if (k.shape() != v.shape() || q.size(0) != k.size(0) || q.size(3) != k.size(3)) {
        refuse(call, "k and v have one shape, and q shares their batch and head_dim; they are " + describe(q) + ", " +
                         describe(k) + ", " + describe(v));
    }
    if (k.size(1) == 0 ? q.size(1) != 0 : q.size(1) % k.size(1) != 0) {
        refuse(call, std::to_string(q.size(1)) + " query heads are no multiple of " + std::to_string(k.size(1)) +
                         " key heads");
    }
}

void check_starts(const Call& call, const Tensor& starts, const AttentionSizes& size) {
    if (!starts.defined()) return;
    if (starts.dtype() != DType::i64 || starts.shape() != Shape{size.batch, size.keys}) {
        refuse(call, "document_starts is " + describe(starts) + "; expected i64" + to_string({size.batch, size.keys}));
    }
    if (size.queries > size.keys) {
        refuse(call, "with document_starts each query stands at a key; there are " + std::to_string(size.queries) +
                         " queries and " + std::to_string(size.keys) + " keys");
    }
}

void check_dropout(const Call& call, double p) {
    if (!(p >= 0 && p <= 1)) refuse(call, "dropout_p is " + std::to_string(p) + "; a probability lies in [0, 1]");
}

DType lse_dtype(DType q) {
    return q == DType::f64 ? DType::f64 : DType::f32;
}

void forward_rule(const Call& call, Results& results) {
    const Tensor& q = call.input(0);
    check_heads(call, q, call.input(1), call.input(2));
    if (call.has(3)) check_starts(call, call.input(3), attention_sizes(q, call.input(1)));
    check_dropout(call, call.real(dropout_p));
    results.add(q.shape(), q.dtype());
    results.add({q.size(0), q.size(1), q.size(2)}, lse_dtype(q.dtype()));
}

double operand_bytes(const Call& call, const Results& results) {
    double bytes = 0;
    for (const Tensor& input : call.inputs) {
        if (input.defined()) bytes += static_cast<double>(input.numel() * size_of(input.dtype()));
    }
    for (int i = 0; i < results.count; ++i) {
        const auto& result = results.results[static_cast<size_t>(i)];
        bytes += static_cast<double>(numel(result.shape) * size_of(result.dtype));
    }
    return bytes;
}

// Two products of head_dim multiply-adds for each pair that counts.
double forward_flops(const AttentionSizes& size, bool is_causal) {
    return 4 * static_cast<double>(size.batch * size.heads * size.head_dim) *
           visible_pairs(size.queries, size.keys, is_causal);
}

// Attributes of the example calls below: a draw as next_draw gives it.
NamedAttributes with_dropout(double p) {
    return {{"causal", true}, {"dropout_p", p}, {"key", 77}, {"step", 3}};
}

void register_forward(Table& table) {
    table.op("attention(q, k, v, document_starts?, causal: bool = false, scale: real = 0, dropout_p: real = 0)")
        .doc(
            "softmax(q k^T scale) v for each head.   q [B, H, Tq, D]   k, v [B, Hkv, Tk, D]   H a multiple of Hkv. "
            "scale 0 stands for 1/sqrt(D). The last query stands at the last key: causal lets query i see keys up to "
            "i + Tk - Tq. document_starts i64 [B, Tk] holds, for each key, the index of its document's first key, or "
            "-1 for padding: a query sees keys of its own document only, padding sees and is seen by nothing, and a "
            "row that sees nothing is zeros. Vaswani et al. 2017, arXiv:1706.03762; computed in chunks of keys as "
            "Dao et al. 2022, arXiv:2205.14135.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const double p = call.real(dropout_p);
            const Draw draw = p > 0 ? next_draw("attention") : Draw{};
            const Tensor starts = call.has(3) ? call.input(3) : Tensor();
            return {std::get<0>(attention_forward(call.input(0), call.input(1), call.input(2), starts,
                                                  call.boolean(causal), call.real(scale), p,
                                                  static_cast<int64_t>(draw.key), draw.step, draw.leaf))};
        })
        .sample({normal({2, 4, 5, 8}), normal({2, 2, 5, 8}), normal({2, 2, 5, 8}), none()}, {{"causal", true}})
        .sample({normal({1, 1, 1, 3}), normal({1, 1, 4, 3}), normal({1, 1, 4, 3}), none()})
        .sample({normal({1, 2, 4, 3}), normal({1, 2, 2, 3}), normal({1, 2, 2, 3}), none()}, {{"causal", true}})
        .sample({normal({1, 2, 4, 3}), normal({1, 2, 0, 3}), normal({1, 2, 0, 3}), none()})
        .error({normal({2, 3, 5, 8}), normal({2, 2, 5, 8}), normal({2, 2, 5, 8}), none()}, {}, "no multiple")
        .like("torch.nn.functional.scaled_dot_product_attention");

    table
        .op("attention_forward(q, k, v, document_starts?, causal: bool = false, scale: real = 0, dropout_p: real = 0, "
            "key: int = 0, step: int = 0, leaf: int = 0) -> (out, lse)")
        .doc("attention with the draw of its dropout named, and lse = log of the sum of exp of each row's scores.")
        .rule(forward_rule)
        .derivative({"q", "k", "v", "document_starts", "out", "lse"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        refuse_second_derivative(b);
                        const Tensor grad = b.has_grad(0)
                                                ? b.grad(0)
                                                : zeros(b.output(0).shape(), b.output(0).dtype(), b.output(0).device());
                        std::tie(grads[0], grads[1], grads[2]) = attention_backward(
                            grad, b.input(0), b.input(1), b.input(2), b.output(0), b.output(1), b.input(3),
                            b.has_grad(1) ? b.grad(1) : Tensor(), b.boolean(causal), b.real(scale), b.real(dropout_p),
                            b.integer(1), b.integer(2), b.integer(3));
                    })
        .cost([](const Call& call, const Results& results) {
            const AttentionSizes size = attention_sizes(call.input(0), call.input(1));
            return Cost{forward_flops(size, call.boolean(causal)), operand_bytes(call, results),
                        attention_forward_workspace(call.input(0), call.input(1), call.input(2))};
        })
        .sample({normal({2, 4, 5, 8}), normal({2, 2, 5, 8}), normal({2, 2, 5, 8}), none()}, {{"causal", true}})
        .sample({normal({1, 2, 3, 5}), normal({1, 1, 7, 5}), normal({1, 1, 7, 5}), none()}, {{"scale", 0.5}})
        .sample({normal({1, 2, 3, 4}), normal({1, 1, 7, 4}), normal({1, 1, 7, 4}), none()}, {{"causal", true}})
        .sample({normal({2, 2, 4, 3}), normal({2, 2, 4, 3}), normal({2, 2, 4, 3}), integers({2, 4}, 0, 1)},
                {{"causal", true}})
        .sample({normal({1, 2, 6, 4}), normal({1, 2, 6, 4}), normal({1, 2, 6, 4}), none()}, with_dropout(0.25))
        .sample({normal({0, 2, 4, 3}), normal({0, 2, 2, 3}), normal({0, 2, 2, 3}), none()})
        .error({normal({2, 3, 4}), normal({2, 3, 4}), normal({2, 3, 4}), none()}, {}, "[batch, heads, positions")
        .error({normal({2, 3, 4, 8}), normal({2, 3, 4, 8}), normal({2, 3, 5, 8}), none()}, {}, "one shape")
        .error({normal({2, 3, 5, 8}), normal({2, 2, 5, 8}), normal({2, 2, 5, 8}), none()}, {}, "no multiple")
        .error({normal({1, 1, 2, 2}), normal({1, 1, 2, 2}), normal({1, 1, 2, 2}), integers({2}, 0, 1)}, {},
               "document_starts is")
        .error({normal({1, 1, 2, 2}), normal({1, 1, 2, 2}), normal({1, 1, 2, 2}), none()}, {{"dropout_p", 1.5}},
               "a probability lies in [0, 1]")
        .like("torch.nn.functional.scaled_dot_product_attention");
}

void register_backward(Table& table) {
    table
        .op("attention_backward(grad, q, k, v, out, lse, document_starts?, grad_lse?, causal: bool = false, "
            "scale: real = 0, dropout_p: real = 0, key: int = 0, step: int = 0, leaf: int = 0) -> (dq, dk, dv)")
        .doc("Gradients of attention_forward from its results. The weights are computed again: p = exp(s - lse).")
        .rule([](const Call& call, Results& results) {
            const Tensor& q = call.input(1);
            check_heads(call, q, call.input(2), call.input(3));
            if (call.has(6)) check_starts(call, call.input(6), attention_sizes(q, call.input(2)));
            check_dropout(call, call.real(dropout_p));
            const Shape rows = {q.size(0), q.size(1), q.size(2)};
            const bool fits = call.input(0).shape() == q.shape() && call.input(4).shape() == q.shape() &&
                              call.input(5).shape() == rows && (!call.has(7) || call.input(7).shape() == rows);
            const bool types = call.input(0).dtype() == q.dtype() && call.input(4).dtype() == q.dtype() &&
                               is_floating(call.input(5).dtype()) &&
                               (!call.has(7) || is_floating(call.input(7).dtype()));
            if (!fits || !types) {
                refuse(call, "grad and out are as q, lse is [batch, heads, queries]; they are " +
                                 describe(call.input(0)) + ", " + describe(call.input(4)) + ", " +
                                 describe(call.input(5)) + " for q " + describe(q));
            }
            results.add(q.shape(), q.dtype());
            results.add(call.input(2).shape(), q.dtype());
            results.add(call.input(3).shape(), q.dtype());
        })
        .no_derivative("second derivatives come later")
        .cost([](const Call& call, const Results& results) {
            const AttentionSizes size = attention_sizes(call.input(1), call.input(2));
            return Cost{2.5 * forward_flops(size, call.boolean(causal)), operand_bytes(call, results),
                        attention_backward_workspace(call.input(0), call.input(1), call.input(2), call.input(3))};
        })
        .sample({normal({2, 4, 5, 8}), normal({2, 4, 5, 8}), normal({2, 2, 5, 8}), normal({2, 2, 5, 8}),
                 normal({2, 4, 5, 8}), positive({2, 4, 5}), none(), none()},
                {{"causal", true}})
        .sample({normal({1, 1, 3, 2}), normal({1, 1, 3, 2}), normal({1, 1, 4, 2}), normal({1, 1, 4, 2}),
                 normal({1, 1, 3, 2}), positive({1, 1, 3}), none(), normal({1, 1, 3})},
                {{"scale", 0.25}})
        .error({normal({1, 1, 3, 2}), normal({1, 1, 3, 2}), normal({1, 1, 4, 2}), normal({1, 1, 4, 2}),
                normal({1, 1, 3, 2}), positive({1, 3}), none(), none()},
               {}, "lse is [batch, heads, queries]");
}

// --- the cache ------------------------------------------------------------------------------------------------------

int64_t capacity_for(int64_t keys) {
    return (keys + 127) / 128 * 128;
}

// The caches' sizes, taken from their shapes.
AttentionSizes check_caches(const Call& call, const Tensor& keys, const Tensor& values) {
    const bool ranks = keys.rank() == 5 && values.rank() == 4;
    const AttentionSizes size =
        ranks ? AttentionSizes{keys.size(0), 0, keys.size(1), 0, keys.size(2) * 16, keys.size(3)} : AttentionSizes{};
    if (!ranks || keys.shape() != key_cache_shape(size.batch, size.kv_heads, size.keys, size.head_dim) ||
        values.shape() != value_cache_shape(size.batch, size.kv_heads, size.keys, size.head_dim) ||
        keys.dtype() != values.dtype() || !is_floating(keys.dtype())) {
        refuse(call, "the caches are " + describe(keys) + " and " + describe(values) + "; make them with kv_cache");
    }
    return size;
}

void check_length(const Call& call, int64_t start, int64_t end, int64_t capacity) {
    if (start < 0 || end > capacity) {
        refuse(call, "positions " + std::to_string(start) + " to " + std::to_string(end) + " leave a cache of " +
                         std::to_string(capacity));
    }
}

void register_cache(Table& table) {
    table
        .op("kv_cache(batch: int, kv_heads: int, keys: int, head_dim: int, is_key: bool, dtype: dtype = f32, "
            "device: device)")
        .doc(
            "Room for `keys` keys (rounded up to whole pages of 128), zeros. The key cache is [batch, kv_heads, "
            "capacity/16, head_dim, 16]: blocks of 16 keys with the keys adjacent, as the products read them. The "
            "value cache is [batch, kv_heads, capacity, head_dim rounded up to 16].")
        .composite([](const Call& call) -> std::vector<Tensor> {
            for (int i = 0; i < 4; ++i) {
                if (call.integer(i) < 0) refuse(call, "a size is negative");
            }
            const auto shape = call.boolean(4) ? key_cache_shape : value_cache_shape;
            return {zeros(shape(call.integer(0), call.integer(1), call.integer(2), call.integer(3)), call.dtype(5),
                          call.device())};
        })
        .sample({}, {{"batch", 1}, {"kv_heads", 2}, {"keys", 130}, {"head_dim", 5}, {"is_key", true}})
        .sample({}, {{"batch", 1}, {"kv_heads", 2}, {"keys", 1}, {"head_dim", 5}, {"is_key", false}})
        .error({}, {{"batch", -1}, {"kv_heads", 2}, {"keys", 1}, {"head_dim", 5}, {"is_key", false}}, "negative");

    table.op("kv_append(cache_k!, cache_v!, k, v, start: int) -> none")
        .doc("Writes k, v [B, Hkv, T, D] into the caches (see kv_cache) as positions start .. start + T.")
        .rule([](const Call& call, Results&) {
            const AttentionSizes size = check_caches(call, call.input(0), call.input(1));
            const Tensor& k = call.input(2);
            const Shape wanted = {size.batch, size.kv_heads, k.rank() == 4 ? k.size(2) : 0, size.head_dim};
            if (k.shape() != wanted || call.input(3).shape() != wanted || k.dtype() != call.input(0).dtype() ||
                call.input(3).dtype() != k.dtype()) {
                refuse(call, "k and v are " + describe(k) + " and " + describe(call.input(3)) + "; the caches " +
                                 describe(call.input(0)) + " take [" + std::to_string(size.batch) + ", " +
                                 std::to_string(size.kv_heads) + ", T, " + std::to_string(size.head_dim) +
                                 "] of their dtype");
            }
            check_length(call, call.integer(0), call.integer(0) + k.size(2), size.keys);
        })
        .no_derivative("it writes its inputs in place")
        .cost([](const Call& call, const Results&) {
            const Tensor& k = call.input(2);
            return Cost{0, 4.0 * static_cast<double>(k.numel() * size_of(k.dtype())), 0};
        })
        .sample({normal({1, 2, 8, 3, 16}), normal({1, 2, 128, 16}), normal({1, 2, 5, 3}), normal({1, 2, 5, 3})},
                {{"start", 14}})
        .error({normal({1, 2, 8, 3, 16}), normal({1, 2, 128, 16}), normal({1, 2, 5, 3}), normal({1, 2, 5, 3})},
               {{"start", 124}}, "leave a cache of 128")
        .error({normal({1, 2, 8, 3}), normal({1, 2, 128, 16}), normal({1, 2, 5, 3}), normal({1, 2, 5, 3})},
               {{"start", 0}}, "make them with kv_cache");

    table.op("attention_cached(q, cache_k, cache_v, length: int, scale: real = 0, causal: bool = true)")
        .doc(
            "attention of q [B, H, Tq, D] over the first `length` keys of the caches (see kv_cache), of which the "
            "queries are the last Tq. The same bits as attention over all `length` positions at once.")
        .rule([](const Call& call, Results& results) {
            const Tensor& q = call.input(0);
            const AttentionSizes size = check_caches(call, call.input(1), call.input(2));
            if (q.rank() != 4 || q.size(0) != size.batch || q.size(3) != size.head_dim ||
                q.dtype() != call.input(1).dtype() ||
                (size.kv_heads == 0 ? q.size(1) != 0 : q.size(1) % size.kv_heads != 0)) {
                refuse(call, "q is " + describe(q) + "; the caches " + describe(call.input(1)) + " take [" +
                                 std::to_string(size.batch) + ", a multiple of " + std::to_string(size.kv_heads) +
                                 ", T, " + std::to_string(size.head_dim) + "] of their dtype");
            }
            check_length(call, call.integer(0) - q.size(2), call.integer(0), size.keys);
            results.add(q.shape(), q.dtype());
        })
        .no_derivative("generation needs no gradient; use attention")
        .cost([](const Call& call, const Results& results) {
            AttentionSizes size = check_caches(call, call.input(1), call.input(2));
            size.heads = call.input(0).size(1);
            size.queries = call.input(0).size(2);
            const auto whole = static_cast<double>(std::max<int64_t>(size.keys, 1));
            const double filled = static_cast<double>(call.integer(0)) / whole;
            size.keys = call.integer(0);
            const auto caches =
                static_cast<double>((call.input(1).numel() + call.input(2).numel()) * size_of(call.input(1).dtype()));
            return Cost{forward_flops(size, call.boolean(1)), operand_bytes(call, results) - caches * (1 - filled), 0};
        })
        .sample({normal({1, 4, 3, 3}), normal({1, 2, 8, 3, 16}), normal({1, 2, 128, 16})}, {{"length", 21}})
        .sample({normal({1, 2, 1, 3}), normal({1, 2, 8, 3, 16}), normal({1, 2, 128, 16})}, {{"length", 128}})
        .error({normal({1, 4, 3, 3}), normal({1, 2, 8, 3, 16}), normal({1, 2, 128, 16})}, {{"length", 129}},
               "leave a cache of 128")
        .error({normal({1, 4, 3, 4}), normal({1, 2, 8, 3, 16}), normal({1, 2, 128, 16})}, {{"length", 21}}, "q is");
}

}  // namespace

Shape key_cache_shape(int64_t batch, int64_t kv_heads, int64_t keys, int64_t head_dim) {
    return {batch, kv_heads, capacity_for(keys) / 16, head_dim, 16};
}

Shape value_cache_shape(int64_t batch, int64_t kv_heads, int64_t keys, int64_t head_dim) {
    return {batch, kv_heads, capacity_for(keys), round_up_to_lanes(head_dim)};
}

void register_attention(Table& table) {
    register_forward(table);
    register_backward(table);
    register_cache(table);
}

}  // namespace tenon::ops
