#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using sweep::bits;

class KvCache : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

struct Sequence {
    Tensor q, k, v, whole;  // whole: attention over all positions at once
    int64_t kv_heads, length, head_dim;
};

Tensor heads_of(int64_t heads, int64_t rows, int64_t dim, DType dtype, uint32_t seed) {
    const Tensor x = ops::mul(sweep::wide({2, rows, heads, dim}, DType::f32, seed), ops::number(0.25));
    return ops::transpose(ops::cast(x, dtype), 1, 2);
}

Sequence sequence(int64_t heads, int64_t kv_heads, int64_t length, int64_t head_dim, DType dtype = DType::f32) {
    Sequence s{heads_of(heads, length, head_dim, dtype, 1),
               heads_of(kv_heads, length, head_dim, dtype, 2),
               heads_of(kv_heads, length, head_dim, dtype, 3),
               {},
               kv_heads,
               length,
               head_dim};
    s.whole = ops::attention(s.q, s.k, s.v, {}, true);
    return s;
}

// Attention over the sequence in pieces of the given sizes, through caches.
Tensor cached(const Sequence& s, const std::vector<int64_t>& pieces) {
    const Tensor keys = ops::kv_cache(2, s.kv_heads, s.length, s.head_dim, true, s.k.dtype());
    const Tensor values = ops::kv_cache(2, s.kv_heads, s.length, s.head_dim, false, s.k.dtype());
    std::vector<Tensor> outs;
    int64_t start = 0;
    for (const int64_t piece : pieces) {
        const auto part = [&](const Tensor& x) { return ops::narrow(x, 2, start, piece); };
        ops::kv_append(keys, values, part(s.k), part(s.v), start);
        outs.push_back(ops::attention_cached(part(s.q), keys, values, start + piece));
        start += piece;
    }
    return ops::cat(outs, 2);
}

TEST_F(KvCache, PrefillChunksAndSingleTokensAreTheWholeSequence) {
    const Sequence sequences[] = {sequence(4, 2, 300, 32), sequence(2, 2, 135, 33), sequence(6, 1, 131, 8)};
    for (const Sequence& s : sequences) {
        std::vector<int64_t> uneven, single(static_cast<size_t>(s.length), 1);
        for (int64_t left = s.length, piece = 1; left > 0; piece = piece * 3 % 71) {
            uneven.push_back(std::min(piece, left));
            left -= uneven.back();
        }
        const std::vector<uint64_t> expected = bits(s.whole);
        sweep::over_sets_and_threads([&](const std::string& where) {
            EXPECT_EQ(bits(cached(s, {s.length})), expected) << "prefill, " << where;
            EXPECT_EQ(bits(cached(s, uneven)), expected) << "chunks, " << where;
        });
        EXPECT_EQ(bits(cached(s, single)), expected) << "tokens";
    }
}

TEST_F(KvCache, OtherTypesKeepTheirOwnCaches) {
    for (const DType dtype : {DType::f64, DType::bf16, DType::f16}) {
        const Sequence s = sequence(2, 1, 140, 5, dtype);
        EXPECT_EQ(bits(cached(s, {130, 1, 9})), bits(s.whole)) << name_of(dtype);
    }
}

TEST_F(KvCache, PlainLoopsAgree) {
    const Sequence s = sequence(4, 2, 150, 20);
    const ops::ForceProvider reference("attention_cached", "reference");
    EXPECT_EQ(bits(cached(s, {140, 10})), bits(s.whole));
}

TEST_F(KvCache, WhatLiesBehindTheLengthIsNeverRead) {
    const Sequence s = sequence(2, 2, 20, 16);
    const Tensor keys = ops::kv_cache(2, 2, 20, 16, true), values = ops::kv_cache(2, 2, 20, 16, false);
    for (const Tensor* cache : {&keys, &values}) ops::assign(*cache, ops::full({}, std::nanf("")));
    ops::kv_append(keys, values, s.k, s.v, 0);
    EXPECT_EQ(bits(ops::attention_cached(s.q, keys, values, 20)), bits(s.whole));
}

TEST_F(KvCache, KeysLieInBlocksOfSixteen) {
    const Sequence s = sequence(1, 1, 19, 3);
    const Tensor keys = ops::kv_cache(2, 1, 19, 3, true), values = ops::kv_cache(2, 1, 19, 3, false);
    EXPECT_EQ(keys.shape(), (Shape{2, 1, 8, 3, 16}));
    EXPECT_EQ(values.shape(), (Shape{2, 1, 128, 16}));
    ops::kv_append(keys, values, s.k, s.v, 0);
    const auto at = [](const Tensor& x, const std::vector<int64_t>& index) {
        Tensor one = x;
        for (const int64_t i : index) one = ops::select(one, 0, i);
        return ops::item(one);
    };
    EXPECT_EQ(at(keys, {1, 0, 1, 2, 2}), at(s.k, {1, 0, 18, 2}));
    EXPECT_EQ(at(values, {1, 0, 18, 2}), at(s.v, {1, 0, 18, 2}));
}

}  // namespace
}  // namespace tenon
