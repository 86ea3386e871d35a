#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/core/allocator.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::from_values;
using ops::to_vector;
using sweep::bits;

class Attention : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

struct Case {
    int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, head_dim = 1;
    bool causal = true;
    double dropout = 0;
    std::vector<int64_t> starts = {};  // of each sequence's keys, or none
    DType dtype = DType::f32;
};

std::string text(const Case& c) {
    return "B" + std::to_string(c.batch) + " H" + std::to_string(c.heads) + "/" + std::to_string(c.kv_heads) + " Tq" +
           std::to_string(c.queries) + " Tk" + std::to_string(c.keys) + " D" + std::to_string(c.head_dim) +
           (c.causal ? " causal" : "") + (c.dropout > 0 ? " dropout" : "") + (c.starts.empty() ? "" : " documents") +
           " " + std::string(name_of(c.dtype));
}

struct Operands {
    Tensor q, k, v, grad, grad_lse, starts;
};

// As models pass them: views of [B, T, H, D]. Small enough that a softmax has many weights that count.
Tensor heads_of(int64_t batch, int64_t heads, int64_t rows, int64_t dim, DType dtype, uint32_t seed) {
    const Tensor x = ops::mul(sweep::wide({batch, rows, heads, dim}, DType::f32, seed), ops::number(0.25));
    return ops::transpose(ops::cast(x, dtype), 1, 2);
}

Operands operands(const Case& c) {
    Operands o;
    o.q = heads_of(c.batch, c.heads, c.queries, c.head_dim, c.dtype, 1);
    o.k = heads_of(c.batch, c.kv_heads, c.keys, c.head_dim, c.dtype, 2);
    o.v = heads_of(c.batch, c.kv_heads, c.keys, c.head_dim, c.dtype, 3);
    o.grad = heads_of(c.batch, c.heads, c.queries, c.head_dim, c.dtype, 4);
    o.grad_lse = sweep::wide({c.batch, c.heads, c.queries}, c.dtype == DType::f64 ? DType::f64 : DType::f32, 5);
    if (!c.starts.empty()) o.starts = from_values(c.starts, {c.batch, c.keys});
    return o;
}

// out, lse, dq, dk, dv.
std::vector<Tensor> run(const Case& c, const Operands& o) {
    const auto [out, lse] =
        ops::attention_forward(o.q, o.k, o.v, o.starts, c.causal, 0, c.dropout, 0x123456789abcdef, 7, 3);
    const auto [dq, dk, dv] = ops::attention_backward(o.grad, o.q, o.k, o.v, out, lse, o.starts, o.grad_lse, c.causal,
                                                      0, c.dropout, 0x123456789abcdef, 7, 3);
    return {out, lse, dq, dk, dv};
}

std::vector<Tensor> run_reference(const Case& c, const Operands& o) {
    const ops::ForceProvider forward("attention_forward", "reference"), backward("attention_backward", "reference");
    return run(c, o);
}

const char* const kNames[] = {"out", "lse", "dq", "dk", "dv"};

void expect_reference_bits(const Case& c) {
    const Operands o = operands(c);
    const std::vector<Tensor> expected = run_reference(c, o);
    sweep::over_sets_and_threads([&](const std::string& where) {
        const std::vector<Tensor> results = run(c, o);
        for (size_t i = 0; i < results.size(); ++i) {
            EXPECT_EQ(bits(results[i]), bits(expected[i])) << kNames[i] << " of " << text(c) << ", " << where;
        }
    });
}

// Documents that start at the given keys; -1 marks padding up to the next.
std::vector<int64_t> packed(int64_t keys, std::vector<std::pair<int64_t, bool>> firsts) {
    std::vector<int64_t> starts;
    for (size_t d = 0; d < firsts.size(); ++d) {
        const int64_t end = d + 1 < firsts.size() ? firsts[d + 1].first : keys;
        for (int64_t j = firsts[d].first; j < end; ++j) starts.push_back(firsts[d].second ? firsts[d].first : -1);
    }
    return starts;
}

TEST_F(Attention, TilesHaveTheBitsOfThePlainLoops) {
    const std::vector<Case> cases = {
        {1, 1, 1, 1, 1, 1, true},     {1, 1, 1, 1, 1, 1, false},     {2, 2, 1, 5, 5, 33, true},
        {1, 2, 2, 3, 7, 16, true},                               // a prefix of keys in a cache
        {1, 2, 2, 3, 7, 5, false},    {1, 2, 1, 7, 3, 8, true},  // queries before the first key see nothing
        {1, 1, 1, 1, 300, 32, true},                             // three chunks, one query
        {1, 4, 2, 61, 61, 32, true},  {1, 2, 2, 130, 257, 17, true}, {1, 2, 1, 90, 131, 80, false},
        {1, 1, 1, 43, 145, 64, true}, {1, 3, 3, 20, 16, 48, false},  {1, 1, 1, 300, 300, 3, true},
        {1, 1, 1, 16, 16, 256, true},
    };
    for (const Case& c : cases) expect_reference_bits(c);
}

TEST_F(Attention, DropoutHasTheBitsOfThePlainLoops) {
    expect_reference_bits({2, 2, 1, 50, 131, 7, true, 0.25});
    expect_reference_bits({1, 1, 1, 5, 130, 16, false, 0.9});
    expect_reference_bits({1, 2, 2, 9, 9, 4, true, 1.0});
}

TEST_F(Attention, DocumentsHaveTheBitsOfThePlainLoops) {
    const std::vector<int64_t> several = packed(150, {{0, true}, {1, true}, {19, true}, {149, true}});
    const std::vector<int64_t> padded = packed(150, {{0, false}, {13, true}, {145, false}});
    std::vector<int64_t> both = several;
    both.insert(both.end(), padded.begin(), padded.end());
    expect_reference_bits({2, 2, 1, 150, 150, 20, true, 0, both});
    expect_reference_bits({2, 2, 1, 150, 150, 16, false, 0, both});
    expect_reference_bits({2, 2, 2, 60, 150, 16, true, 0.3, both});
}

TEST_F(Attention, SixteenBitRowsConvertOnTheWay) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
        expect_reference_bits({1, 2, 1, 45, 131, 20, true, 0, {}, dtype});
        expect_reference_bits({1, 2, 2, 9, 9, 32, false, 0.2, {}, dtype});
    }
}

TEST_F(Attention, AnyLayoutOfQueriesKeysAndValues) {
    const Case c{1, 2, 2, 19, 19, 16, true};
    const Operands o = operands(c);
    const std::vector<Tensor> expected = run_reference(c, o);
    const std::vector<Tensor> q = sweep::layouts(o.q), k = sweep::layouts(o.k), v = sweep::layouts(o.v),
                              grad = sweep::layouts(o.grad);
    for (size_t i = 0; i < q.size(); ++i) {
        const std::vector<Tensor> results = run(c, {q[i], k[i], v[i], grad[i], o.grad_lse, o.starts});
        for (size_t r = 0; r < results.size(); ++r) EXPECT_EQ(bits(results[r]), bits(expected[r])) << i << kNames[r];
    }
}

// softmax(q k^T scale) v and its gradients by their definition, in f64.
struct Truth {
    std::vector<double> out, lse, dq, dk, dv;
};
Truth truth(const Case& c, const Operands& o) {
    const auto wide = [](const Tensor& x) { return to_vector<double>(ops::cast(x, DType::f64)); };
    const std::vector<double> q = wide(o.q), k = wide(o.k), v = wide(o.v), grad = wide(o.grad), glse = wide(o.grad_lse);
    Truth t{std::vector<double>(q.size()), std::vector<double>(glse.size()), std::vector<double>(q.size()),
            std::vector<double>(k.size()), std::vector<double>(v.size())};
    const int64_t d = c.head_dim, group = c.heads / c.kv_heads;
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    for (int64_t row = 0; row < c.batch * c.heads * c.queries; ++row) {
        const int64_t i = row % c.queries, h = row / c.queries % c.heads, b = row / c.queries / c.heads;
        const int64_t at = i + c.keys - c.queries;
        const auto key_row = [&](int64_t j) {
            return static_cast<size_t>(((b * c.kv_heads + h / group) * c.keys + j) * d);
        };
        const auto query_row = static_cast<size_t>(row * d);
        std::vector<double> p(static_cast<size_t>(c.keys), 0.0), s(p);
        double total = 0;
        for (int64_t j = 0; j < c.keys; ++j) {
            const auto J = static_cast<size_t>(j);
            const auto same = [&] {
                if (c.starts.empty()) return true;
                const int64_t mine = c.starts[static_cast<size_t>(b * c.keys + at)];
                return mine >= 0 && c.starts[static_cast<size_t>(b * c.keys + j)] == mine;
            };
            if ((c.causal && j > at) || !same()) continue;
            for (int64_t e = 0; e < d; ++e)
                s[J] += q[query_row + static_cast<size_t>(e)] * k[key_row(j) + static_cast<size_t>(e)];
            p[J] = std::exp(s[J] * scale);
            total += p[J];
        }
        t.lse[static_cast<size_t>(row)] = std::log(total);
        double delta = 0;
        std::vector<double> dp(p.size());
        for (size_t j = 0; j < p.size(); ++j) {
            if (p[j] == 0) continue;
            p[j] /= total;
            for (size_t e = 0; e < static_cast<size_t>(d); ++e) {
                t.out[query_row + e] += p[j] * v[key_row(static_cast<int64_t>(j)) + e];
                dp[j] += grad[query_row + e] * v[key_row(static_cast<int64_t>(j)) + e];
            }
            delta += p[j] * dp[j];
        }
        for (size_t j = 0; j < p.size(); ++j) {
            const double ds = p[j] * (dp[j] - delta + glse[static_cast<size_t>(row)]) * scale;
            for (size_t e = 0; e < static_cast<size_t>(d); ++e) {
                const size_t key = key_row(static_cast<int64_t>(j)) + e;
                t.dq[query_row + e] += ds * k[key];
                t.dk[key] += ds * q[query_row + e];
                t.dv[key] += p[j] * grad[query_row + e];
            }
        }
    }
    return t;
}

void expect_near(const Tensor& x, const std::vector<double>& expected, double tolerance, const std::string& what) {
    const std::vector<double> values = to_vector<double>(ops::cast(x, DType::f64));
    ASSERT_EQ(values.size(), expected.size());
    double most = 0, size = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        if (std::isinf(expected[i])) {
            EXPECT_EQ(values[i], expected[i]) << what << " " << i;
            continue;
        }
        most = std::max(most, std::abs(values[i] - expected[i]));
        size = std::max(size, std::abs(expected[i]));
    }
    EXPECT_LE(most, tolerance * (1 + size)) << what;
}

TEST_F(Attention, AgreesWithItsDefinitionInDoublePrecision) {
    const std::vector<int64_t> documents = packed(150, {{0, false}, {4, true}, {30, true}});
    const std::vector<Case> cases = {
        {1, 4, 2, 61, 61, 32, true},
        {1, 2, 1, 20, 145, 5, false},
        {2, 2, 2, 3, 9, 16, true},
        {1, 2, 1, 150, 150, 24, true, 0, documents},
        {1, 1, 1, 20, 150, 24, false, 0, documents},
        {1, 1, 1, 4, 2, 3, true},
    };
    for (Case c : cases) {
        for (const DType dtype : {DType::f32, DType::f64}) {
            c.dtype = dtype;
            const Operands o = operands(c);
            const Truth t = truth(c, o);
            const std::vector<Tensor> results = run(c, o);
            const double tolerance = dtype == DType::f64 ? 1e-13 : 2e-5;
            expect_near(results[0], t.out, tolerance, "out of " + text(c));
            expect_near(results[1], t.lse, tolerance, "lse of " + text(c));
            expect_near(results[2], t.dq, tolerance, "dq of " + text(c));
            expect_near(results[3], t.dk, tolerance, "dk of " + text(c));
            expect_near(results[4], t.dv, tolerance, "dv of " + text(c));
        }
    }
}

TEST_F(Attention, AWeightThatIsDroppedIsGoneAndTheRestGrows) {
    // One key with v = 1: the result is the weight itself.
    const Tensor q = ops::zeros({1, 1, 4000, 4}), k = ops::zeros({1, 1, 1, 4}), v = ops::ones({1, 1, 1, 4});
    const Tensor out = std::get<0>(ops::attention_forward(q, k, v, {}, false, 0, 0.25, 99, 1, 0));
    const std::vector<float> values = to_vector<float>(ops::contiguous(ops::select(out, 3, 0)));
    int64_t kept = 0;
    for (const float x : values) {
        EXPECT_TRUE(x == 0 || x == static_cast<float>(1 / 0.75)) << x;
        kept += x != 0;
    }
    EXPECT_NEAR(static_cast<double>(kept) / 4000, 0.75, 0.03);
}

TEST_F(Attention, AMaskedKeyIsNeverMultiplied) {
    const float nan = std::nanf("");
    for (const int64_t length : {21, 150}) {
        Case c{1, 2, 1, length, length, 16, true};
        c.starts = packed(length, {{0, false}, {3, true}, {9, true}});
        const Operands o = operands(c);
        const std::vector<Tensor> clean = run(c, o);
        // NaN in padding, in the last key (which the last query alone sees), and in the last query's gradient.
        for (const Tensor* x : {&o.k, &o.v}) {
            ops::assign(ops::narrow(*x, 2, 0, 3), ops::full({}, nan));
            ops::assign(ops::narrow(*x, 2, length - 1, 1), ops::full({}, nan));
        }
        ops::assign(ops::narrow(o.grad, 2, length - 1, 1), ops::full({}, nan));
        const std::vector<Tensor> spoiled = run(c, o);
        for (size_t i = 0; i < 3; ++i) {  // out, lse, dq: rows before the last
            EXPECT_EQ(bits(ops::narrow(spoiled[i], 2, 0, length - 1)), bits(ops::narrow(clean[i], 2, 0, length - 1)))
                << kNames[i];
        }
        for (size_t i = 3; i < 5; ++i) {  // dk, dv: the first document, which the last query does not see
            EXPECT_EQ(bits(ops::narrow(spoiled[i], 2, 0, 9)), bits(ops::narrow(clean[i], 2, 0, 9))) << kNames[i];
        }
    }
}

TEST_F(Attention, LeftPaddingAndPackingChangeNoBit) {
    const Case whole{1, 2, 1, 140, 140, 16, true};
    const Operands o = operands(whole);
    const std::vector<Tensor> alone = run(whole, o);
    for (const int64_t before : {1, 16, 37}) {
        for (const bool padding : {true, false}) {
            Case c = whole;
            c.queries = c.keys = 140 + before;
            c.starts = packed(c.keys, {{0, !padding}, {before, true}});
            const auto moved = [&](const Tensor& x) {
                const Tensor parts[] = {sweep::wide({1, x.size(1), before, 16}, DType::f32, 9), x};
                return ops::cat(parts, 2);
            };
            const Tensor lse_parts[] = {ops::zeros({1, 2, before}), o.grad_lse};
            const std::vector<Tensor> results = run(c, {moved(o.q), moved(o.k), moved(o.v), moved(o.grad),
                                                        ops::cat(lse_parts, 2), from_values(c.starts, {1, c.keys})});
            for (size_t i = 0; i < results.size(); ++i) {
                EXPECT_EQ(bits(ops::narrow(results[i], 2, before, 140)), bits(alone[i])) << kNames[i] << before;
            }
            if (padding) {
                EXPECT_EQ(bits(ops::narrow(results[0], 2, 0, before)), bits(ops::zeros({1, 2, before, 16})));
            }
        }
    }
}

TEST_F(Attention, ARowIsTheSameInAnyBatchOfRows) {
    const Case c{2, 2, 1, 60, 150, 20, true};
    const Operands o = operands(c);
    const std::vector<Tensor> all = run(c, o);
    for (const int64_t row : {0, 13, 59}) {
        // The last query of a shorter history.
        const int64_t keys = 150 - 60 + row + 1;
        const Tensor out = ops::attention(ops::narrow(o.q, 2, row, 1), ops::narrow(o.k, 2, 0, keys),
                                          ops::narrow(o.v, 2, 0, keys), {}, true);
        EXPECT_EQ(bits(out), bits(ops::narrow(all[0], 2, row, 1))) << row;
    }
}

TEST_F(Attention, DocumentStartsThatMakeNoSenseAreNamed) {
    const Operands o = operands({1, 1, 1, 4, 4, 4, true});
    const auto with = [&](std::vector<int64_t> starts) {
        return ops::attention(o.q, o.k, o.v, from_values(starts, {1, 4}), true);
    };
    EXPECT_NO_THROW(with({-1, 1, 1, -1}));
    for (const std::vector<int64_t>& starts :
         {std::vector<int64_t>{0, 0, 1, 1}, {1, 1, 1, 1}, {0, 0, -1, 0}, {0, 5, 5, 5}, {0, -2, 0, 0}}) {
        try {
            with(starts);
            ADD_FAILURE() << "accepted";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("document_starts[0]["), std::string::npos) << error.what();
        }
    }
}

TEST_F(Attention, MetaCountsTheFlopsAndTheMemoryThatAreUsed) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
        for (const int64_t dim : {16, 5}) {
            const Case c{2, 4, 2, 70, 130, dim, true, 0, {}, dtype};
            const Operands real = operands(c);
            const auto on_meta = [](const Tensor& x) { return Tensor(x.shape(), x.dtype(), Device::meta); };
            Operands meta{on_meta(real.q),    on_meta(real.k),        on_meta(real.v),
                          on_meta(real.grad), on_meta(real.grad_lse), {}};
            // Heads as views of [B, T, H, D], as the real ones.
            for (Tensor* x : {&meta.q, &meta.k, &meta.v, &meta.grad}) {
                *x = ops::transpose(Tensor({x->size(0), x->size(2), x->size(1), dim}, dtype, Device::meta), 1, 2);
            }
            const auto most = [&](const Operands& o, Device device) {
                const int64_t before = memory_counts(device).live;
                reset_peak(device);
                run(c, o);
                return memory_counts(device).peak - before;
            };
            EXPECT_EQ(most(meta, Device::meta), most(real, Device::cpu)) << text(c);
            ops::CostCounter counter;
            run(c, real);
            const double pairs = 70 * 130 - 70.0 * 69 / 2;
            EXPECT_EQ(counter.total().flops, 3.5 * 4 * 2 * 4 * static_cast<double>(dim) * pairs);
        }
    }
}

}  // namespace
}  // namespace tenon
