// Attention forward: a block of query rows of one head.   q [rows, D]   keys in panels [D][16]   v [keys, D]
// Keys come in chunks of 128. A chunk's scores are a product, its weights exp(s - m), its part of the result a product;
// then it is folded into what came before. A chunk of scores for 42 rows stays in L1.
#include "tenon/base/fault.h"
#include "tenon/cpu/sets/attention_dropout.h"
#include "tenon/cpu/sets/attention_kernel.h"
#include "tenon/cpu/sets/elements.h"
#include "tenon/cpu/sets/functions.h"

namespace tenon::cpu::TENON_CPU_SET {

namespace {

// A document may start within a panel, so a chunk's scores start up to 15 floats into a row.
constexpr int64_t kScoreRow = kAttentionChunk + kColumns + kLanes;
constexpr int64_t kRowsPadded = 48;

struct RowState {
    alignas(64) float m[kRowsPadded], l[kRowsPadded];
};

struct Chunk {
    int64_t first, count, shift;  // keys [first, first + count) of the document; scores start at `shift` in a row
};

// s[row][shift + key] = q · k for every pair that counts, and some that do not.
void scores(const AttentionForward& f, const Chunk& c, float* s) {
    const float* panels = f.key_panels + (f.first_key + c.first) / kLanes * kLanes * f.head_dim;
    for (int64_t column = 0; column < c.shift + c.count; column += kColumns) {
        for (int64_t row = 0; row < f.rows; row += kRows) {
            const int64_t rows = least(kRows, f.rows - row);
            const int64_t seen = seen_of(f.visible, row + rows - 1, c.first, c.count);
            const int64_t left = seen == 0 ? 0 : c.shift + seen - column;
            if (left <= 0) continue;
            const int vectors = left > kLanes ? kVectors : 1;
            multiply_block(rows, vectors,
                           {f.q + row * f.q_row, f.q_row, f.q_column, panels + column * f.head_dim, kLanes,
                            kLanes * f.head_dim, s + row * kScoreRow + column, kScoreRow, false},
                           f.head_dim);
        }
    }
}

// n scores of one row become weights exp(s - m). The lanes of a partial last vector that are absent become anything.
TENON_INLINE void weights(float* s, int64_t n, Vec scale, float* m, float* l) {
    Vec top = broadcast(TENON_FAULT(attention_running_maximum) ? *m : -__builtin_inff());
    over_vectors(n, [&](int64_t i, int lanes) {
        const Vec x = mul(load(s + i), scale);
        store(s + i, x);
        top = lanes == kLanes ? maximum(top, x) : select(first_lanes(lanes), maximum(top, x), top);
    });
    *m = tree_maximum(top);
    const Vec greatest = broadcast(*m);
    Vec sum = zero();
    over_vectors(n, [&](int64_t i, int lanes) {
        const Vec p = exp(sub(load(s + i), greatest));
        store(s + i, p);
        sum = add(sum, lanes == kLanes ? p : select(first_lanes(lanes), p, zero()));
    });
    *l = tree_sum(sum);
}

// For planted faults.
float plain_sum(const float* x, int64_t n) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
}

void weights_of_rows(const AttentionForward& f, const Chunk& c, float* s, RowState& state) {
    for (int64_t row = 0; row < f.rows; ++row) {
        const int64_t n = seen_of(f.visible, row, c.first, c.count);
        if (n == 0) continue;
        float* first = s + row * kScoreRow + c.shift;
        weights(first, n, broadcast(f.scale), &state.m[row], &state.l[row]);
        if (TENON_FAULT(attention_length_in_line)) state.l[row] = plain_sum(first, n);
        if (f.dropout.threshold == 0) continue;
        DropoutRow words;
        words.draw(f.dropout, row, c.first, n);
        for (int64_t i = 0; i < n; i += kLanes) store(first + i, words.drop(f.dropout, i, load(first + i)));
        if (TENON_FAULT(attention_drops_before_sum)) state.l[row] = plain_sum(first, n);
    }
    for (int64_t row = 0; TENON_FAULT(attention_multiplies_masked) && row < f.rows; ++row) {
        for (int64_t i = seen_of(f.visible, row, c.first, c.count); i < c.count; ++i)
            s[row * kScoreRow + c.shift + i] = 0;
    }
}

// part[row] = sum over the keys that the row sees of weight * v, from nothing.
void values(const AttentionForward& f, const Chunk& c, const float* s, float* part) {
    const int64_t width = round_up(f.head_dim, kLanes);
    for (int64_t column = 0; column < width; column += kColumns) {
        const int vectors = width - column > kLanes ? kVectors : 1;
        const float* v = f.v + c.first * f.v_row + column;
        for (int64_t row = 0; row < f.rows; row += kRows) {
            const int64_t rows = least(kRows, f.rows - row);
            const int64_t common = seen_of(f.visible, row, c.first, c.count);
            if (seen_of(f.visible, row + rows - 1, c.first, c.count) == 0) continue;
            const Block all{s + row * kScoreRow + c.shift, kScoreRow, 1,    v, f.v_row, kLanes,
                            part + row * width + column,   width,     false};
            if (TENON_FAULT(attention_multiplies_masked)) {
                multiply_block(rows, vectors, all, c.count);
                continue;
            }
            multiply_block(rows, vectors, all, common);
            // Where the rows see ever more keys: each row's own ones.
            for (int64_t i = 1; i < rows; ++i) {
                const int64_t own = seen_of(f.visible, row + i, c.first, c.count) - common;
                if (own == 0) continue;
                Block one = all;
                one.a += i * all.a_row + common;
                one.b += common * all.b_k;
                one.c += i * all.c_row;
                one.continue_chain = true;
                multiply_block(1, vectors, one, own);
            }
        }
    }
}

// total <- total folded with the chunk's: M' = max(M, m), l = fma(l, e^(M-M'), lc e^(m-M')), a the same.
void fold(const AttentionForward& f, const Chunk& c, RowState& total, const RowState& chunk, float* sum,
          const float* part) {
    const int64_t width = round_up(f.head_dim, kLanes);
    alignas(64) float alpha[kRowsPadded], beta[kRowsPadded];
    const Vec one = broadcast(1.0f);
    for (int64_t row = 0; row < f.rows; row += kLanes) {
        const Vec before = load(total.m + row), now = load(chunk.m + row);
        const Vec both = TENON_FAULT(attention_fold_keeps_maximum) ? before : maximum(before, now);
        const Vec a = select(equal(before, both), one, exp(sub(before, both)));
        const Vec b = select(equal(now, both), one, exp(sub(now, both)));
        store(alpha + row, a);
        store(beta + row, b);
    }
    for (int64_t row = 0; row < f.rows; ++row) {
        if (seen_of(f.visible, row, c.first, c.count) == 0) continue;
        const Vec a = broadcast(alpha[row]), b = broadcast(beta[row]);
        if (!TENON_FAULT(attention_fold_keeps_maximum))
            total.m[row] = first_lane(maximum(broadcast(total.m[row]), broadcast(chunk.m[row])));
        const Vec l = broadcast(total.l[row]), part_l = mul(broadcast(chunk.l[row]), b);
        total.l[row] = first_lane(TENON_FAULT(attention_fold_rounds) ? add(mul(l, a), part_l) : fma(l, a, part_l));
        for (int64_t d = 0; d < width; d += kLanes) {
            float* x = sum + row * width + d;
            const Vec now = mul(load(part + row * width + d), b);
            store(x, TENON_FAULT(attention_fold_rounds_values) ? add(mul(load(x), a), now) : fma(load(x), a, now));
        }
    }
}

// out = sum / l and lse = M + log l; zeros and -infinity for a row that saw nothing.
void finish(const AttentionForward& f, const RowState& total, const float* sum) {
    const int64_t width = round_up(f.head_dim, kLanes);
    for (int64_t row = 0; row < f.rows; row += kLanes) {
        const int lanes = static_cast<int>(least(kLanes, f.rows - row));
        store_partial(f.lse + row, add(load(total.m + row), log(load(total.l + row))), lanes);
    }
    with_element(f.out_type, [&](auto e) {
        using E = decltype(e);
        auto* out = static_cast<typename E::Stored*>(f.out);
        for (int64_t row = 0; row < f.rows; ++row) {
            const bool blind = seen_of(f.visible, row, 0, f.visible.keys) == 0;
            const Vec inverse = div(broadcast(1.0f), broadcast(total.l[row]));
            over_vectors(f.head_dim, [&](int64_t d, int lanes) {
                Vec x = blind ? zero() : mul(load(sum + row * width + d), inverse);
                if (TENON_FAULT(attention_divides) && !blind)
                    x = div(load(sum + row * width + d), broadcast(total.l[row]));
                store_lanes<E>(out + row * f.out_row + d, x, lanes);
            });
            if (blind) f.lse[row] = -__builtin_inff();
        }
    });
}

}  // namespace

int64_t attention_forward_scratch(int64_t head_dim) {
    return kAttentionRows * (kScoreRow + 2 * round_up(head_dim, kLanes)) + kLanes;
}

void attention_forward_block(const AttentionForward& f) {
    const int64_t width = round_up(f.head_dim, kLanes);
    float* s = f.scratch;
    float* sum = s + kAttentionRows * kScoreRow;
    float* part = sum + kAttentionRows * width;
    RowState total{}, chunk{};
    const int64_t seen = seen_of(f.visible, f.rows - 1, 0, f.visible.keys);
    const int64_t chunk_keys = TENON_FAULT(attention_chunks_by_rows) && f.rows < kRows ? 64 : kAttentionChunk;
    for (int64_t first = 0, most = 0; first < seen; first += most) {
        most = TENON_FAULT(attention_chunks_by_memory) ? chunk_keys - (f.first_key + first) % chunk_keys : chunk_keys;
        const Chunk c{first, least(most, seen - first), (f.first_key + first) % kLanes};
        scores(f, c, s);
        weights_of_rows(f, c, s, first == 0 ? total : chunk);
        values(f, c, s, first == 0 ? sum : part);
        if (first > 0) fold(f, c, total, chunk, sum, part);
    }
    finish(f, total, sum);
}

}  // namespace tenon::cpu::TENON_CPU_SET
