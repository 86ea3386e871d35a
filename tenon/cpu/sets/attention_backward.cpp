// Attention backward: the query heads that share one KV head, within one document.
//     p = exp(s - lse)   ds = p (dp - delta)   dq = ds k   dk = ds^T q   dv = p^T grad
// Key tiles ascend; in each, query heads, then query tiles. So dq continues one chain over the keys, dk and dv one over
// (query head, query). The tile of dk and dv, and four tiles of scores, stay in L2.
#include "tenon/base/fault.h"
#include "tenon/cpu/sets/attention_dropout.h"
#include "tenon/cpu/sets/attention_kernel.h"
#include "tenon/cpu/sets/elements.h"
#include "tenon/cpu/sets/functions.h"

namespace tenon::cpu::TENON_CPU_SET {

// In attention_rows.cpp.
void pack_key_panels(const HeadRows& from, int64_t keys, int64_t head_dim, float* to);
void scale_head_rows(const float* from, int64_t from_row, int64_t rows, int64_t head_dim, float scale, Element type,
                     void* to, int64_t to_row);

namespace {

constexpr int64_t kScoreRow = kAttentionKeys + kColumns;

struct Scratch {
    float *k_panels, *v_panels, *s, *dp, *dk, *dv;
};

Scratch divide(float* memory, int64_t head_dim) {
    const int64_t panels = kAttentionKeys * head_dim, rows = kAttentionKeys * round_up(head_dim, kLanes);
    const int64_t tile = kAttentionRows * kScoreRow;
    Scratch s{};
    s.k_panels = memory;
    s.v_panels = s.k_panels + panels;
    s.s = s.v_panels + panels;
    s.dp = s.s + tile;
    s.dk = s.dp + tile;
    s.dv = s.dk + rows;
    return s;
}

// Query rows [row, row + rows) of one head against keys [key, key + keys).
struct Tile {
    int64_t head, row, rows, key, keys;
};

int64_t seen_in(const AttentionBackward& b, const Tile& t, int64_t i) {
    return seen_of(b.visible, t.row + i, t.key, t.keys);
}

// to[row][key] = left · panel's key for every pair that counts, and some that do not.
void score_products(const AttentionBackward& b, const Tile& t, const float* left, int64_t left_row, const float* panels,
                    float* to) {
    for (int64_t column = 0; column < t.keys; column += kColumns) {
        for (int64_t i = 0; i < t.rows; i += kRows) {
            const int64_t rows = least(kRows, t.rows - i);
            const int64_t left_over = seen_in(b, t, i + rows - 1) - column;
            if (left_over <= 0) continue;
            multiply_block(rows, left_over > kLanes ? kVectors : 1,
                           {left + i * left_row, left_row, 1, panels + column * b.head_dim, kLanes, kLanes * b.head_dim,
                            to + i * kScoreRow + column, kScoreRow, false},
                           b.head_dim);
        }
    }
}

// s becomes the weights (after dropout), dp becomes ds. Lanes of pairs that do not count hold anything.
void weights_and_slopes(const AttentionBackward& b, const Tile& t, float* s, float* dp) {
    const Vec scale = broadcast(b.scale);
    WeightDropout dropout = b.dropout;
    dropout.first += t.head * b.dropout_head;
    for (int64_t i = 0; i < t.rows; ++i) {
        const int64_t n = seen_in(b, t, i);
        if (n == 0) continue;
        const Vec lse = broadcast(b.lse[t.head * b.lse_head + t.row + i]);
        const Vec delta = broadcast(b.delta[t.head * b.lse_head + t.row + i]);
        float *s_row = s + i * kScoreRow, *dp_row = dp + i * kScoreRow;
        if (dropout.threshold == 0) {
            for (int64_t j = 0; j < n; j += kLanes) {
                const Vec p = exp(sub(mul(load(s_row + j), scale), lse));
                store(s_row + j, p);
                store(dp_row + j, mul(p, sub(load(dp_row + j), delta)));
            }
            continue;
        }
        DropoutRow words;
        words.draw(dropout, t.row + i, t.key, n);
        for (int64_t j = 0; j < n; j += kLanes) {
            const Vec p = exp(sub(mul(load(s_row + j), scale), lse));
            store(s_row + j, words.drop(dropout, j, p));
            store(dp_row + j, mul(p, sub(words.drop(dropout, j, load(dp_row + j)), delta)));
        }
    }
}

// dq[row] continues over the keys that the row sees.
void query_gradients(const AttentionBackward& b, const Tile& t, const float* ds) {
    const int64_t width = round_up(b.head_dim, kLanes);
    float* dq = b.dq + t.head * b.dq_head + t.row * b.dq_row;
    for (int64_t column = 0; column < width; column += kColumns) {
        const int vectors = width - column > kLanes ? kVectors : 1;
        for (int64_t i = 0; i < t.rows; i += kRows) {
            const int64_t rows = least(kRows, t.rows - i), common = seen_in(b, t, i);
            if (seen_in(b, t, i + rows - 1) == 0) continue;
            const Block all{ds + i * kScoreRow,         kScoreRow, 1,   b.k + t.key * b.k_row + column, b.k_row, kLanes,
                            dq + i * b.dq_row + column, b.dq_row,  true};
            multiply_block(rows, vectors, all, common);
            for (int64_t r = 1; r < rows; ++r) {
                const int64_t own = seen_in(b, t, i + r) - common;
                if (own == 0) continue;
                Block one = all;
                one.a += r * all.a_row + common;
                one.b += common * all.b_k;
                one.c += r * all.c_row;
                multiply_block(1, vectors, one, own);
            }
        }
    }
}

// The first row of the tile that sees its key `j`.
int64_t first_row(const AttentionBackward& b, const Tile& t, int64_t j) {
    const int64_t row = b.visible.causal ? t.key + j + 1 - b.visible.first - t.row : 0;
    return row < 0 ? 0 : least(row, t.rows);
}

// to[key] continues over the query rows that see the key: to += left^T right, left [row][key], right [row][d].
void key_gradients(const AttentionBackward& b, const Tile& t, const float* left, const float* right, int64_t right_row,
                   float* to) {
    const int64_t width = round_up(b.head_dim, kLanes);
    for (int64_t column = 0; column < width; column += kColumns) {
        const int vectors = width - column > kLanes ? kVectors : 1;
        for (int64_t j = 0; j < t.keys; j += kRows) {
            const int64_t keys = least(kRows, t.keys - j), common = first_row(b, t, j + keys - 1);
            for (int64_t r = 0; r < keys; ++r) {
                const int64_t start = first_row(b, t, j + r);
                if (start == common) continue;
                multiply_block(1, vectors,
                               {left + start * kScoreRow + j + r, 1, kScoreRow, right + start * right_row + column,
                                right_row, kLanes, to + (j + r) * width + column, width, true},
                               common - start);
            }
            if (common == t.rows) continue;
            multiply_block(keys, vectors,
                           {left + common * kScoreRow + j, 1, kScoreRow, right + common * right_row + column, right_row,
                            kLanes, to + j * width + column, width, true},
                           t.rows - common);
        }
    }
}

void tile(const AttentionBackward& b, const Tile& t, const Scratch& w) {
    const float* q = b.q + t.head * b.q_head + t.row * b.q_row;
    const float* grad = b.grad + t.head * b.grad_head + t.row * b.grad_row;
    score_products(b, t, q, b.q_row, w.k_panels, w.s);
    score_products(b, t, grad, b.grad_row, w.v_panels, w.dp);
    weights_and_slopes(b, t, w.s, w.dp);
    if (b.wants_dk_dv) {
        key_gradients(b, t, w.s, grad, b.grad_row, w.dv);
        key_gradients(b, t, w.dp, q, b.q_row, w.dk);
    }
    if (b.wants_dq) query_gradients(b, t, w.dp);
}

// For planted faults: as far from the last step as `at` is from the first.
int64_t mirrored(int64_t at, int64_t first, int64_t end, int64_t step) {
    return first + (end - first - 1) / step * step - (at - first);
}

char* row_of(void* rows, Element type, int64_t offset) {
    return static_cast<char*>(rows) + offset * (type == Element::f32 ? 4 : 2);
}

}  // namespace

int64_t attention_backward_scratch(int64_t head_dim) {
    return 2 * kAttentionKeys * (head_dim + round_up(head_dim, kLanes)) + 2 * kAttentionRows * kScoreRow + kLanes;
}

void attention_backward_pass(const AttentionBackward& b) {
    const Scratch w = divide(b.scratch, b.head_dim);
    const int64_t width = round_up(b.head_dim, kLanes);
    for (int64_t head = 0; b.wants_dq && head < b.group; ++head) {
        for (int64_t row = 0; row < b.queries; ++row) {
            memset(b.dq + head * b.dq_head + row * b.dq_row, 0, sizeof(float) * static_cast<size_t>(width));
        }
    }
    for (int64_t at = b.first_key; at < b.end_key; at += kAttentionKeys) {
        const int64_t key = TENON_FAULT(dq_keys_descend) ? mirrored(at, b.first_key, b.end_key, kAttentionKeys) : at;
        const int64_t count = least(kAttentionKeys, b.end_key - key);
        pack_key_panels({b.k + key * b.k_row, b.k_row, 1, Element::f32}, count, b.head_dim, w.k_panels);
        pack_key_panels({b.v + key * b.v_row, b.v_row, 1, Element::f32}, count, b.head_dim, w.v_panels);
        memset(w.dk, 0, sizeof(float) * static_cast<size_t>(2 * kAttentionKeys * width));
        for (int64_t turn = 0; turn < b.group; ++turn) {
            const int64_t head = TENON_FAULT(dk_dv_heads_descend) ? mirrored(turn, 0, b.group, 1) : turn;
            for (int64_t step = 0; step < b.queries; step += kAttentionRows) {
                const int64_t row =
                    TENON_FAULT(dk_dv_queries_descend) ? mirrored(step, 0, b.queries, kAttentionRows) : step;
                const Tile t{head, row, least(kAttentionRows, b.queries - row), key, count};
                if (seen_in(b, t, t.rows - 1) > 0) tile(b, t, w);
            }
        }
        if (!b.wants_dk_dv) continue;
        scale_head_rows(w.dk, width, count, b.head_dim, b.scale, b.dk_type, row_of(b.dk, b.dk_type, key * b.dk_row),
                        b.dk_row);
        scale_head_rows(w.dv, width, count, b.head_dim, 1.0f, b.dk_type, row_of(b.dv, b.dk_type, key * b.dk_row),
                        b.dk_row);
    }
}

}  // namespace tenon::cpu::TENON_CPU_SET
