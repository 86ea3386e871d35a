// Cuts attention into tiles by shape alone, readies the operands, and runs the tiles on the pool. The arithmetic is in
// sets/attention_*.cpp.
#include "tenon/cpu/attention.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/cpu/access.h"
#include "tenon/cpu/fill.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/scratch.h"
#include "tenon/cpu/sets/attention_tile.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(
    void copy_head_rows(const HeadRows& from, int64_t rows, int64_t head_dim, float* to);
    void pack_key_panels(const HeadRows& from, int64_t keys, int64_t head_dim, float* to);
    void attention_delta(const HeadRows& grad, const HeadRows& out, int64_t rows, int64_t head_dim, float* delta);
    void scale_head_rows(const float* from, int64_t from_row, int64_t rows, int64_t head_dim, float scale, Element type,
                         void* to, int64_t to_row);
    int64_t attention_forward_scratch(int64_t head_dim); void attention_forward_block(const AttentionForward& f);
    int64_t attention_backward_scratch(int64_t head_dim); void attention_backward_pass(const AttentionBackward& b);)

namespace {

using ops::round_up_to_lanes;

// Below this the pool's hand-over costs more than a second thread gains (measured in gemm.cpp).
constexpr double kWorthSharing = 1e6;

Element element_of(const Tensor& x) {
    return x.dtype() == DType::bf16 ? Element::bf16 : x.dtype() == DType::f16 ? Element::f16 : Element::f32;
}

char* at(const Tensor& x, int64_t offset) {
    return data<char>(x) + offset * size_of(x.dtype());
}

// The rows of one head of x [B, H, T, D], from row `first`.
HeadRows head_rows(const Tensor& x, int64_t batch, int64_t head, int64_t first) {
    const Dims& s = x.strides();
    return {at(x, batch * s[0] + head * s[1] + first * s[2]), s[2], s[3], element_of(x)};
}

// Rows of f32 readable to whole vectors, for every head of a tensor.
struct VectorRows {
    const float* data;
    int64_t batch, head, row;
    const float* of(int64_t b, int64_t h, int64_t first) const { return data + b * batch + h * head + first * row; }
};

// Calls body(i) for each i, on the pool where the work is worth it.
template <class Body>
void share(int64_t count, double flops, Body body) {
    if (flops >= kWorthSharing) return parallel_for(count, body);
    for (int64_t i = 0; i < count; ++i) body(i);
}

// Memory for one call, handed out from the front.
class Workspace {
public:
    explicit Workspace(int64_t bytes) {
        if (bytes > 0) memory_ = Tensor({bytes}, DType::u8, Device::cpu);
    }
    float* take(int64_t bytes) {
        if (bytes == 0) return nullptr;
        auto* start = reinterpret_cast<float*>(data<char>(memory_) + used_);  // 64-byte aligned memory of floats
        used_ += bytes;
        return start;
    }

private:
    Tensor memory_;
    int64_t used_ = 0;
};

// x itself where its rows serve as they are, else a copy in the workspace.
VectorRows vector_rows(const Tensor& x, Workspace& workspace) {
    if (ops::has_vector_rows(x)) return {data<float>(x), x.strides()[0], x.strides()[1], x.strides()[2]};
    const int64_t heads = x.size(1), rows = x.size(2), dim = x.size(3), width = round_up_to_lanes(dim);
    float* copy = workspace.take(ops::copied_row_bytes(x));
    share(x.size(0) * heads, static_cast<double>(x.numel()), [&](int64_t i) {
        TENON_SELECT(copy_head_rows)(head_rows(x, i / heads, i % heads, 0), rows, dim, copy + i * rows * width);
    });
    return {copy, heads * rows * width, rows * width, width};
}

WeightDropout weight_dropout(const AttentionCall& call) {
    return {dropout_threshold(call.dropout_p),
            call.draw.key,
            call.draw.step,
            call.draw.leaf,
            static_cast<float>(1 / (1 - call.dropout_p)),
            0,
            call.size.keys};
}

double flops_of(const AttentionCall& call) {
    return 4 * static_cast<double>(call.size.batch * call.size.heads * call.size.head_dim) *
           ops::visible_pairs(call.size.queries, call.size.keys, call.causal);
}

// What queries see in a document. Where none of them sees anything, `first` may be negative.
Visible visible(const AttentionCall& call, const Document& d, int64_t row) {
    if (!call.causal) return {d.keys, d.keys, false};
    return {d.position + row + 1, d.keys, true};
}

// Rows outside every document see nothing.
void clear_rows(const AttentionCall& call, Tensor& out, Tensor& lse) {
    if (!call.document_starts.defined()) return;
    fill(data(out), out.dtype(), out.numel(), 0);
    std::fill_n(data<float>(lse), lse.numel(), -std::numeric_limits<float>::infinity());
}

// Keys and values as the forward tiles read them.
struct KeyPanels {
    const float* data;
    int64_t batch, head;
};

void forward_tiles(const AttentionCall& call, const Tensor& q, KeyPanels k, const VectorRows& v, Tensor& out,
                   float* lse) {
    struct Tile {
        const Document* document;
        int64_t head, row;
    };
    const ops::AttentionSizes& s = call.size;
    const std::vector<Document> all = documents(call);
    std::vector<Tile> tiles;
    for (const Document& d : all) {
        for (int64_t head = 0; head < s.heads; ++head) {
            // The last rows see the most: long tiles first.
            for (int64_t row = (d.queries - 1) / kAttentionRows * kAttentionRows; row >= 0; row -= kAttentionRows) {
                tiles.push_back({&d, head, row});
            }
        }
    }
    share(static_cast<int64_t>(tiles.size()), flops_of(call), [&](int64_t index) {
        const auto [document, head, row] = tiles[static_cast<size_t>(index)];
        const Document& d = *document;
        const int64_t kv_head = head / s.group(), width = round_up_to_lanes(s.head_dim), query = d.first_query + row;
        AttentionForward f{};
        f.rows = std::min(kAttentionRows, d.queries - row);
        f.head_dim = s.head_dim;
        f.visible = visible(call, d, row);
        f.scratch = thread_scratch(TENON_SELECT(attention_forward_scratch)(s.head_dim) + kAttentionRows * width);
        const HeadRows rows = head_rows(q, d.batch, head, query);
        if (rows.type == Element::f32) {
            f.q = static_cast<const float*>(rows.data), f.q_row = rows.row_stride, f.q_column = rows.column_stride;
        } else {
            TENON_SELECT(copy_head_rows)(rows, f.rows, s.head_dim, f.scratch);
            f.q = f.scratch, f.q_row = width, f.q_column = 1;
            f.scratch += kAttentionRows * width;
        }
        f.key_panels = k.data + d.batch * k.batch + kv_head * k.head;
        f.first_key = d.first_key;
        f.v = v.of(d.batch, kv_head, d.first_key), f.v_row = v.row;
        const int64_t first = (d.batch * s.heads + head) * s.queries + query;
        f.out = at(out, first * s.head_dim), f.out_row = s.head_dim, f.out_type = element_of(out);
        f.lse = lse + first;
        f.scale = static_cast<float>(call.scale);
        f.dropout = weight_dropout(call);
        f.dropout.first = first * s.keys + (TENON_FAULT(attention_dropout_by_document) ? 0 : d.first_key);
        TENON_SELECT(attention_forward_block)(f);
    });
}

}  // namespace

std::vector<Document> documents(const AttentionCall& call) {
    const ops::AttentionSizes& s = call.size;
    const int64_t offset = s.keys - s.queries;
    std::vector<Document> all;
    if (s.queries == 0) return all;
    if (!call.document_starts.defined()) {
        for (int64_t b = 0; b < s.batch; ++b) all.push_back({b, 0, s.keys, 0, s.queries, offset});
        return all;
    }
    const Tensor& starts = call.document_starts;
    for (int64_t b = 0; b < s.batch; ++b) {
        const auto start = [&](int64_t j) {
            return data<int64_t>(starts)[b * starts.strides()[0] + j * starts.strides()[1]];
        };
        for (int64_t first = 0, j = 0; j < s.keys; ++j) {
            if (start(j) == j) first = j;
            const bool inside = j > 0 && start(j) == start(j - 1);
            if (start(j) != -1 && start(j) != j && !inside) {
                throw Error(Code::usage, "attention",
                            "document_starts[" + std::to_string(b) + "][" + std::to_string(j) + "] is " +
                                std::to_string(start(j)) + "; expected " + std::to_string(j) +
                                " at a document's first key, its first key's index within it, -1 for padding");
            }
            const bool ends = j + 1 == s.keys || start(j + 1) != start(j);
            if (start(j) == -1 || !ends || j < offset) continue;
            const int64_t from = std::max(first, offset);
            all.push_back({b, first, j + 1 - first, from - offset, j + 1 - from, from - first});
        }
    }
    return all;
}

void attention_forward(const AttentionCall& call, const Tensor& q, const Tensor& k, const Tensor& v, Tensor& out,
                       Tensor& lse) {
    const ops::AttentionSizes& s = call.size;
    clear_rows(call, out, lse);
    Workspace workspace(ops::attention_forward_workspace(q, k, v));
    // Tiles of 128 keys for packing: by shape alone.
    const int64_t chunks = (s.keys + kAttentionChunk - 1) / kAttentionChunk;
    const int64_t head_floats = round_up_to_lanes(s.keys) * s.head_dim;
    float* panels = workspace.take(s.batch * s.kv_heads * head_floats * 4);
    share(s.batch * s.kv_heads * chunks, flops_of(call), [&](int64_t i) {
        const int64_t head = i / chunks, first = i % chunks * kAttentionChunk;
        TENON_SELECT(pack_key_panels)
        (head_rows(k, head / s.kv_heads, head % s.kv_heads, first), std::min(kAttentionChunk, s.keys - first),
         s.head_dim, panels + head * head_floats + first * s.head_dim);
    });
    forward_tiles(call, q, {panels, s.kv_heads * head_floats, head_floats}, vector_rows(v, workspace), out,
                  data<float>(lse));
}

void attention_cached(const AttentionCall& call, const Tensor& q, const Tensor& cache_k, const Tensor& cache_v,
                      Tensor& out) {
    const Dims &k = cache_k.strides(), &v = cache_v.strides(), &strides = q.strides();
    std::vector<float> lse(static_cast<size_t>(call.size.batch * call.size.heads * call.size.queries));
    AttentionCall tiles = call;
    Tensor rows = q;
    if (call.size.queries == 1 && call.size.group() > 1) {
        // One query a head: the heads that share keys are rows of one tile. out and lse lie the same either way.
        tiles.size.heads = call.size.kv_heads, tiles.size.queries = call.size.group(), tiles.causal = false;
        rows = Tensor(q, {call.size.batch, tiles.size.heads, tiles.size.queries, call.size.head_dim},
                      {strides[0], strides[1] * tiles.size.queries, strides[1], strides[3]}, 0);
    }
    forward_tiles(tiles, rows, {data<float>(cache_k), k[0], k[1]}, {data<float>(cache_v), v[0], v[1], v[2]}, out,
                  lse.data());
}

namespace {

// What the passes of a gradient share.
struct BackwardOperands {
    VectorRows grad, q, k, v;
    const float* lse;
    float* delta;
    float* dq;  // rows of whole vectors
};

// The whole of one KV head in one document.
AttentionBackward backward_pass(const AttentionCall& call, const AttentionGradient& g, const BackwardOperands& o,
                                const Document& d, int64_t kv_head) {
    const ops::AttentionSizes& s = call.size;
    const int64_t head = kv_head * s.group(), width = round_up_to_lanes(s.head_dim);
    const int64_t first = (d.batch * s.heads + head) * s.queries + d.first_query;
    const int64_t first_key = (d.batch * s.kv_heads + kv_head) * s.keys + d.first_key;
    AttentionBackward b{};
    b.queries = d.queries, b.head_dim = s.head_dim, b.group = s.group();
    b.first_key = 0, b.end_key = d.keys, b.wants_dq = b.wants_dk_dv = true;
    b.visible = visible(call, d, 0);
    b.q = o.q.of(d.batch, head, d.first_query), b.q_head = o.q.head, b.q_row = o.q.row;
    b.grad = o.grad.of(d.batch, head, d.first_query), b.grad_head = o.grad.head, b.grad_row = o.grad.row;
    b.k = o.k.of(d.batch, kv_head, d.first_key), b.k_row = o.k.row;
    b.v = o.v.of(d.batch, kv_head, d.first_key), b.v_row = o.v.row;
    b.lse = o.lse + first, b.delta = o.delta + first, b.lse_head = s.queries;
    b.dq = o.dq + first * width, b.dq_head = s.queries * width, b.dq_row = width;
    b.dk = at(g.dk, first_key * s.head_dim), b.dv = at(g.dv, first_key * s.head_dim);
    b.dk_row = s.head_dim, b.dk_type = element_of(g.dk);
    b.scale = static_cast<float>(call.scale);
    b.dropout = weight_dropout(call);
    b.dropout.first = first * s.keys + d.first_key;
    b.dropout_head = s.queries * s.keys;
    return b;
}

// Only dq, of query rows [row, row + rows) of one head of the pass.
AttentionBackward only_queries(AttentionBackward b, int64_t head, int64_t row, int64_t rows) {
    b.wants_dk_dv = false;
    b.group = 1, b.queries = rows;
    b.q += head * b.q_head + row * b.q_row, b.grad += head * b.grad_head + row * b.grad_row;
    b.lse += head * b.lse_head + row, b.delta += head * b.lse_head + row;
    b.dq += head * b.dq_head + row * b.dq_row;
    b.dropout.first += head * b.dropout_head + row * b.dropout.row_stride;
    if (b.visible.causal) b.visible.first += row;
    return b;
}

// Passes that can run side by side. With fewer KV heads than this, each is cut into its keys' part and its queries',
// which costs two of seven products more. No sum changes its order.
constexpr size_t kEnoughPasses = 4;

std::vector<AttentionBackward> cut(std::vector<AttentionBackward> passes) {
    if (passes.size() >= kEnoughPasses) return passes;
    std::vector<AttentionBackward> parts;
    for (const AttentionBackward& whole : passes) {
        if (whole.visible.keys <= kAttentionKeys) {
            parts.push_back(whole);
            continue;
        }
        for (int64_t key = 0; key < whole.visible.keys; key += kAttentionKeys) {
            parts.push_back(whole);
            parts.back().wants_dq = false;
            parts.back().first_key = key, parts.back().end_key = std::min(key + kAttentionKeys, whole.visible.keys);
        }
        constexpr int64_t rows = 3 * kAttentionRows;
        for (int64_t i = 0; i < whole.group * ((whole.queries + rows - 1) / rows); ++i) {
            const int64_t head = i % whole.group, row = i / whole.group * rows;
            parts.push_back(only_queries(whole, head, row, std::min(rows, whole.queries - row)));
        }
    }
    return parts;
}

// delta = Sum of grad * out by rows, less the gradient of lse.
void make_delta(const AttentionCall& call, const AttentionGradient& g, float* delta) {
    const ops::AttentionSizes& s = call.size;
    share(s.batch * s.heads, flops_of(call), [&](int64_t i) {
        float* to = delta + i * s.queries;
        TENON_SELECT(attention_delta)
        (head_rows(g.grad, i / s.heads, i % s.heads, 0), head_rows(g.out, i / s.heads, i % s.heads, 0), s.queries,
         s.head_dim, to);
        if (!g.grad_lse.defined()) return;
        const Dims& strides = g.grad_lse.strides();
        const float* from = data<float>(g.grad_lse) + i / s.heads * strides[0] + i % s.heads * strides[1];
        for (int64_t row = 0; row < s.queries; ++row) to[row] = to[row] - from[row * strides[2]];
    });
}

}  // namespace

void attention_backward(const AttentionCall& call, AttentionGradient& g) {
    const ops::AttentionSizes& s = call.size;
    const int64_t rows = s.batch * s.heads * s.queries, width = round_up_to_lanes(s.head_dim);
    Workspace workspace(ops::attention_backward_workspace(g.grad, g.q, g.k, g.v));
    BackwardOperands o{};
    o.lse = data<float>(g.lse);
    o.delta = workspace.take(round_up_to_lanes(rows) * 4);
    const bool direct = g.dq.dtype() == DType::f32 && width == s.head_dim;
    o.dq = direct ? data<float>(g.dq) : workspace.take(rows * width * 4);
    o.grad = vector_rows(g.grad, workspace), o.q = vector_rows(g.q, workspace);
    o.k = vector_rows(g.k, workspace), o.v = vector_rows(g.v, workspace);
    make_delta(call, g, o.delta);
    std::vector<AttentionBackward> passes;
    for (const Document& d : documents(call)) {
        for (int64_t kv_head = 0; kv_head < s.kv_heads; ++kv_head) {
            passes.push_back(backward_pass(call, g, o, d, kv_head));
        }
    }
    // Rows and keys outside every document have gradients of zero, and so have keys that no query stands at.
    if (call.document_starts.defined() || s.queries == 0) {
        std::fill_n(o.dq, rows * width, 0.0F);
        for (const Tensor* x : {&g.dk, &g.dv}) fill(data(*x), x->dtype(), x->numel(), 0);
    }
    passes = cut(std::move(passes));
    share(static_cast<int64_t>(passes.size()), flops_of(call), [&](int64_t i) {
        AttentionBackward& b = passes[static_cast<size_t>(i)];
        b.scratch = thread_scratch(TENON_SELECT(attention_backward_scratch)(s.head_dim));
        TENON_SELECT(attention_backward_pass)(b);
    });
    share(s.batch * s.heads, flops_of(call), [&](int64_t i) {
        const int64_t row = i * s.queries;
        TENON_SELECT(scale_head_rows)
        (o.dq + row * width, width, s.queries, s.head_dim, static_cast<float>(call.scale), element_of(g.dq),
         at(g.dq, row * s.head_dim), s.head_dim);
    });
}

}  // namespace tenon::cpu
