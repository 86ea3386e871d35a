// The orders and formulas of docs/numerics.md once more, from its text alone: plain loops, std::fma, and exp and log of
// the project. Nothing here is shared with a kernel or with its reference, so a mistake that both have shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "tenon/scalar/host.h"
#include "tests/cpu/documented_sum.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::from_values;
using sweep::bits;
using tests::documented_sum;
using Floats = std::vector<float>;

class NumericsText : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

size_t at(int64_t i) {
    return static_cast<size_t>(i);
}

void expect_everywhere(const std::vector<Floats>& expected, const std::function<std::vector<Tensor>()>& compute) {
    sweep::over_sets_and_threads([&](const std::string& where) {
        const std::vector<Tensor> results = compute();
        for (size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(bits(results[i]), bits(expected[i])) << "result " << i << ", " << where;
        }
    });
}

TEST_F(NumericsText, Product) {
    const int64_t rows = 5, depth = 800, columns = 37;
    const Floats a = sweep::wide_values(rows * depth, 1), b = sweep::wide_values(depth * columns, 2);
    Floats c;
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            float chain = 0;
            for (int64_t k = 0; k < depth; ++k) chain = std::fma(a[at(i * depth + k)], b[at(k * columns + j)], chain);
            c.push_back(chain);
        }
    }
    expect_everywhere({c}, [&] {
        return std::vector<Tensor>{ops::matmul(from_values(a, {rows, depth}), from_values(b, {depth, columns}))};
    });
}

TEST_F(NumericsText, Softmax) {
    // Three blocks; the divisor is then a sum of sums.
    const int64_t n = 9001;
    const Floats x = sweep::wide_values(n);
    const float m = *std::max_element(x.begin(), x.end());
    Floats e, y;
    for (const float v : x) e.push_back(scalar::host::exp(v - m));
    const float scale = 1 / documented_sum(e);
    for (const float v : e) y.push_back(v * scale);
    expect_everywhere({y}, [&] { return std::vector<Tensor>{ops::softmax(from_values(x, {1, n}))}; });
}

TEST_F(NumericsText, Norms) {
    const int64_t n = 9001;
    const double eps = 1e-5;
    const Floats x = sweep::wide_values(n, 1), w = sweep::wide_values(n, 2), b = sweep::wide_values(n, 3);
    const auto root = [&](const Floats& values) {
        Floats squares;
        for (const float v : values) squares.push_back(v * v);
        return 1 / std::sqrt(documented_sum(squares) / static_cast<float>(n) + static_cast<float>(eps));
    };
    const float r = root(x), mean = documented_sum(x) / static_cast<float>(n);
    Floats rms, centred, layer;
    for (size_t i = 0; i < x.size(); ++i) rms.push_back(x[i] * r * w[i]);
    for (const float v : x) centred.push_back(v - mean);
    const float spread = root(centred);
    for (size_t i = 0; i < x.size(); ++i) layer.push_back(centred[i] * spread * w[i] + b[i]);
    const Tensor row = from_values(x, {1, n}), weight = from_values(w, {n}), bias = from_values(b, {n});
    expect_everywhere({rms, layer}, [&] {
        return std::vector<Tensor>{ops::rms_norm(row, weight, eps), ops::layer_norm(row, weight, bias, eps)};
    });
}

struct Attention {
    int64_t heads, kv_heads, queries, keys, width;
    bool causal;
    float scale;
    std::vector<int64_t> starts;  // of each key's document
    Floats q, k, v, grad;         // [heads, rows, width]

    // The key at the query's own position.
    int64_t position(int64_t query) const { return query + keys - queries; }
    int64_t document(int64_t query) const { return starts[at(position(query))]; }
    bool sees(int64_t query, int64_t key) const {
        return starts[at(key)] == document(query) && (!causal || key <= position(query));
    }
    const float* of_query(const Floats& x, int64_t head, int64_t query) const {
        return &x[at((head * queries + query) * width)];
    }
    // Neighbouring query heads share a key head.
    const float* of_key(const Floats& x, int64_t head, int64_t key) const {
        return &x[at((head / (heads / kv_heads) * keys + key) * width)];
    }
    float chain(const float* a, const float* b) const {
        float sum = 0;
        for (int64_t e = 0; e < width; ++e) sum = std::fma(a[e], b[e], sum);
        return sum;
    }
    float score(int64_t head, int64_t query, int64_t key) const {
        return chain(of_query(q, head, query), of_key(k, head, key)) * scale;
    }
};

// row += factor · x, each element a step of its own chain.
void continue_chains(float* row, float factor, const float* x, int64_t width) {
    for (int64_t e = 0; e < width; ++e) row[e] = std::fma(factor, x[e], row[e]);
}

// What is known of one query after some chunks of 128 keys, which count from the document's first key.
struct Row {
    bool empty = true;
    float M = 0, l = 0;
    Floats a;
};
Row chunk_of(const Attention& c, int64_t head, int64_t query, int64_t first, int64_t end) {
    std::vector<int64_t> visible;
    Floats scores;
    for (int64_t key = first; key < end; ++key) {
        if (!c.sees(query, key)) continue;
        visible.push_back(key);
        scores.push_back(c.score(head, query, key));
    }
    Row chunk;
    if (visible.empty()) return chunk;
    chunk.empty = false;
    chunk.M = *std::max_element(scores.begin(), scores.end());
    chunk.a.resize(at(c.width));
    std::array<float, 16> lanes{};
    for (size_t i = 0; i < visible.size(); ++i) {
        const float p = scalar::host::exp(scores[i] - chunk.M);
        lanes[at((visible[i] - c.document(query)) % 16)] += p;
        continue_chains(chunk.a.data(), p, c.of_key(c.v, head, visible[i]), c.width);
    }
    chunk.l = documented_sum({lanes.begin(), lanes.end()});
    return chunk;
}

void fold(Row& row, const Row& chunk) {
    if (chunk.empty) return;
    if (row.empty) {
        row = chunk;
        return;
    }
    const float M = std::max(row.M, chunk.M);
    const auto factor = [&](float m) { return m == M ? 1.0f : scalar::host::exp(m - M); };
    const float alpha = factor(row.M), beta = factor(chunk.M);
    row.M = M;
    row.l = std::fma(row.l, alpha, chunk.l * beta);
    for (size_t e = 0; e < row.a.size(); ++e) row.a[e] = std::fma(row.a[e], alpha, chunk.a[e] * beta);
}

struct Result {
    Floats out, lse, dq, dk, dv;
};
void forward(const Attention& c, Result& result) {
    for (int64_t head = 0; head < c.heads; ++head) {
        for (int64_t query = 0; query < c.queries; ++query) {
            Row row;
            for (int64_t first = c.document(query); first < c.keys; first += 128) {
                fold(row, chunk_of(c, head, query, first, std::min(first + 128, c.keys)));
            }
            const float scale = 1 / row.l;
            for (const float a : row.a) result.out.push_back(a * scale);
            result.lse.push_back(row.M + scalar::host::log(row.l));
        }
    }
}

// dq is a chain over keys; dk and dv are chains over query heads of the group, and queries in each: the order of this
// walk.
void backward(const Attention& c, Result& result) {
    for (Floats* x : {&result.dk, &result.dv}) x->assign(c.k.size(), 0.0f);
    result.dq.assign(c.q.size(), 0.0f);
    for (int64_t head = 0; head < c.heads; ++head) {
        for (int64_t query = 0; query < c.queries; ++query) {
            const float* grad = c.of_query(c.grad, head, query);
            const float* out = c.of_query(result.out, head, query);
            Floats products;
            for (int64_t e = 0; e < c.width; ++e) products.push_back(grad[e] * out[e]);
            const float D = documented_sum(products), L = result.lse[at(head * c.queries + query)];
            float* dq = &result.dq[at((head * c.queries + query) * c.width)];
            for (int64_t key = 0; key < c.keys; ++key) {
                if (!c.sees(query, key)) continue;
                const float p = scalar::host::exp(c.score(head, query, key) - L);
                const float ds = p * (c.chain(grad, c.of_key(c.v, head, key)) - D);
                const auto row = at((head / (c.heads / c.kv_heads) * c.keys + key) * c.width);
                continue_chains(dq, ds, c.of_key(c.k, head, key), c.width);
                continue_chains(&result.dk[row], ds, c.of_query(c.q, head, query), c.width);
                continue_chains(&result.dv[row], p, grad, c.width);
            }
        }
    }
    for (float& x : result.dq) x *= c.scale;
    for (float& x : result.dk) x *= c.scale;
}

void expect_attention(const Attention& c) {
    Result result;
    forward(c, result);
    backward(c, result);
    const Shape of_queries = {1, c.heads, c.queries, c.width}, of_keys = {1, c.kv_heads, c.keys, c.width};
    const Tensor q = from_values(c.q, of_queries), k = from_values(c.k, of_keys), v = from_values(c.v, of_keys),
                 grad = from_values(c.grad, of_queries), starts = from_values(c.starts, {1, c.keys});
    expect_everywhere({result.out, result.lse, result.dq, result.dk, result.dv}, [&] {
        const auto [out, lse] = ops::attention_forward(q, k, v, starts, c.causal, c.scale);
        const auto [dq, dk, dv] = ops::attention_backward(grad, q, k, v, out, lse, starts, Tensor(), c.causal, c.scale);
        return std::vector<Tensor>{out, lse, dq, dk, dv};
    });
}

TEST_F(NumericsText, AttentionOverFourChunks) {
    Attention c{4, 2, 130, 417, 22, true, 0.3f, std::vector<int64_t>(417, 0), {}, {}, {}, {}};
    c.q = sweep::wide_values(c.heads * c.queries * c.width, 1);
    c.k = sweep::wide_values(c.kv_heads * c.keys * c.width, 2);
    c.v = sweep::wide_values(c.kv_heads * c.keys * c.width, 3);
    c.grad = sweep::wide_values(c.heads * c.queries * c.width, 4);
    expect_attention(c);
    c.causal = false;
    expect_attention(c);
    // Two documents, each chunked from its own first key.
    for (size_t key = 9; key < c.starts.size(); ++key) c.starts[key] = 9;
    c.causal = true;
    expect_attention(c);
}

TEST_F(NumericsText, LinearCrossEntropyOverTwoChunks) {
    const int64_t rows = 700, width = 9, vocabulary = 50, divisor = 690;
    const Floats x = sweep::wide_values(rows * width, 1);
    const Floats w = sweep::wide_values(vocabulary * width, 2);
    std::vector<int64_t> targets;
    for (int64_t i = 0; i < rows; ++i) targets.push_back(i % 70 == 3 ? -100 : i * 37 % vocabulary);

    Floats losses, g(at(rows * vocabulary), 0.0f), dx, dw;
    for (int64_t i = 0; i < rows; ++i) {
        Floats z, e;
        for (int64_t j = 0; j < vocabulary; ++j) {
            float chain = 0;
            for (int64_t k = 0; k < width; ++k) chain = std::fma(x[at(i * width + k)], w[at(j * width + k)], chain);
            z.push_back(chain);
        }
        const float m = *std::max_element(z.begin(), z.end());
        for (const float v : z) e.push_back(scalar::host::exp(v - m));
        const float L = m + scalar::host::log(documented_sum(e));
        const bool counts = targets[at(i)] >= 0;
        losses.push_back(counts ? L - z[at(targets[at(i)])] : 0.0f);
        for (int64_t j = 0; counts && j < vocabulary; ++j) {
            const float one = j == targets[at(i)] ? 1.0f : 0.0f;
            g[at(i * vocabulary + j)] =
                (scalar::host::exp(z[at(j)] - L) - one) * static_cast<float>(1.0 / static_cast<double>(divisor));
        }
    }
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < width; ++k) {
            float chain = 0;
            for (int64_t j = 0; j < vocabulary; ++j) {
                chain = std::fma(g[at(i * vocabulary + j)], w[at(j * width + k)], chain);
            }
            dx.push_back(chain);
        }
    }
    for (int64_t j = 0; j < vocabulary; ++j) {
        for (int64_t k = 0; k < width; ++k) {
            float chain = 0;
            for (int64_t i = 0; i < rows; ++i) {
                chain = std::fma(g[at(i * vocabulary + j)], x[at(i * width + k)], chain);
            }
            dw.push_back(chain);
        }
    }
    const float loss = documented_sum(losses) / static_cast<float>(divisor);
    expect_everywhere({{loss}, dx, dw}, [&] {
        const auto [l, a, b] =
            ops::linear_cross_entropy_forward(from_values(x, {rows, width}), from_values(w, {vocabulary, width}),
                                              from_values(targets, {rows}), -100, divisor, true);
        return std::vector<Tensor>{l, a, b};
    });
}

TEST_F(NumericsText, Rope) {
    const int64_t positions = 5, half = 19;
    const Floats x = sweep::wide_values(positions * 2 * half, 1), cos = sweep::wide_values(positions * half, 2),
                 sin = sweep::wide_values(positions * half, 3);
    Floats y(x.size());
    for (int64_t t = 0; t < positions; ++t) {
        for (int64_t e = 0; e < half; ++e) {
            const size_t one = at(t * 2 * half + e), two = at(t * 2 * half + half + e), angle = at(t * half + e);
            y[one] = x[one] * cos[angle] - x[two] * sin[angle];
            y[two] = x[two] * cos[angle] + x[one] * sin[angle];
        }
    }
    expect_everywhere({y}, [&] {
        return std::vector<Tensor>{ops::rope(from_values(x, {1, 1, positions, 2 * half}),
                                             from_values(cos, {positions, half}), from_values(sin, {positions, half}))};
    });
}

TEST_F(NumericsText, AdamW) {
    const int64_t n = 1001, step = 3;
    const double lr = 3e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, decay = 0.1;
    const double c1 = 1 - beta1 * beta1 * beta1, c2 = 1 - beta2 * beta2 * beta2;
    const Floats p = sweep::wide_values(n, 1), g = sweep::wide_values(n, 2), m = sweep::wide_values(n, 3);
    Floats v = sweep::wide_values(n, 4), new_p, new_m, new_v;
    for (float& each : v) each *= each;
    const auto f32 = [](double x) { return static_cast<float>(x); };
    for (size_t i = 0; i < p.size(); ++i) {
        new_m.push_back(m[i] + (g[i] - m[i]) * f32(1 - beta1));
        new_v.push_back(v[i] * f32(beta2) + g[i] * g[i] * f32(1 - beta2));
        const float root = std::sqrt(new_v[i]) / f32(std::sqrt(c2));
        new_p.push_back(p[i] * f32(1 - lr * decay) - f32(lr / c1) * (new_m[i] / (root + f32(eps))));
    }
    expect_everywhere({new_p, new_m, new_v}, [&] {
        std::vector<Tensor> state = {from_values(p, {n}), from_values(m, {n}), from_values(v, {n})};
        ops::adamw(state[0], from_values(g, {n}), state[1], state[2], lr, beta1, beta2, eps, decay, step);
        return state;
    });
}

}  // namespace
}  // namespace tenon
