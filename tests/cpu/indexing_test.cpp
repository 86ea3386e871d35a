#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::from_values;
using ops::to_vector;
using sweep::bits;

class Indexing : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }

    std::vector<float> floats(int64_t count) {
        std::normal_distribution<float> normal;
        std::vector<float> values(static_cast<size_t>(count));
        for (float& value : values) value = normal(random_);
        return values;
    }
    std::vector<int64_t> indices(int64_t count, int64_t size) {
        std::uniform_int_distribution<int64_t> uniform(0, size - 1);
        std::vector<int64_t> values(static_cast<size_t>(count));
        for (int64_t& value : values) value = uniform(random_);
        return values;
    }

    std::mt19937 random_{7};
};

std::string message_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST_F(Indexing, EmbeddingTakesRows) {
    const Tensor weight = from_values(std::vector<float>{0, 1, 2, 3, 4, 5}, {3, 2});
    const Tensor list = from_values(std::vector<int32_t>{2, 0, 2}, {3});
    EXPECT_EQ(to_vector<float>(ops::embedding(weight, list)), (std::vector<float>{4, 5, 0, 1, 4, 5}));
    EXPECT_EQ(to_vector<float>(ops::embedding(ops::transpose(weight), from_values(std::vector<int64_t>{1}, {1}))),
              (std::vector<float>{1, 3, 5}));
}

TEST_F(Indexing, EmbeddingBackwardAddsInAscendingOrderOnAnyThreadCount) {
    const int64_t count = 3000;
    const int64_t rows = 70;
    const int64_t width = 300;
    const std::vector<int64_t> list = indices(count, rows - 1);
    const std::vector<float> grad = floats(count * width);
    std::vector<float> expected(static_cast<size_t>(rows * width), 0.0F);
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < width; ++j) {
            expected[static_cast<size_t>(list[static_cast<size_t>(i)] * width + j)] +=
                grad[static_cast<size_t>(i * width + j)];
        }
    }
    const int before = cpu::threads();
    for (const int threads : {1, 2, 3}) {
        cpu::set_threads(threads);
        const Tensor sums =
            ops::embedding_backward(from_values(grad, {count, width}), from_values(list, {count}), rows);
        EXPECT_EQ(bits(sums), bits(expected));
    }
    cpu::set_threads(before);
}

TEST_F(Indexing, SelectAndAddAgreeWithPlainLoops) {
    const std::vector<float> x = floats(3 * 5 * 4);
    const std::vector<int64_t> list = indices(9, 5);
    const std::vector<float> values = floats(3 * 9 * 4);
    std::vector<float> selected;
    std::vector<float> added = x;
    for (size_t o = 0; o < 3; ++o) {
        for (size_t k = 0; k < 9; ++k) {
            for (size_t i = 0; i < 4; ++i) {
                const size_t at = (o * 5 + static_cast<size_t>(list[k])) * 4 + i;
                selected.push_back(x[at]);
                added[at] += values[(o * 9 + k) * 4 + i];
            }
        }
    }
    const Tensor tensor = from_values(x, {3, 5, 4});
    const Tensor where = from_values(list, {9});
    EXPECT_EQ(bits(ops::index_select(tensor, where, 1)), bits(selected));
    EXPECT_EQ(bits(ops::index_add(tensor, where, from_values(values, {3, 9, 4}), 1)), bits(added));
    // The same through a permuted view.
    const Tensor view = ops::permute(tensor, {1, 0, 2});
    EXPECT_EQ(bits(ops::permute(ops::index_select(view, where, 0), {1, 0, 2})), bits(selected));
}

TEST_F(Indexing, GatherAndScatterAddAgreeWithPlainLoops) {
    const std::vector<float> x = floats(4 * 3 * 5);
    const std::vector<int64_t> list = indices(6 * 2 * 5, 4);
    const std::vector<float> values = floats(6 * 2 * 5);
    std::vector<float> gathered;
    std::vector<float> scattered = x;
    for (size_t k = 0; k < 6; ++k) {
        for (size_t b = 0; b < 2; ++b) {
            for (size_t c = 0; c < 5; ++c) {
                const size_t from = (k * 2 + b) * 5 + c;
                const size_t at = (static_cast<size_t>(list[from]) * 3 + b) * 5 + c;
                gathered.push_back(x[at]);
                scattered[at] += values[from];
            }
        }
    }
    const Tensor tensor = from_values(x, {4, 3, 5});
    const Tensor index = from_values(list, {6, 2, 5});
    EXPECT_EQ(bits(ops::gather(tensor, index, 0)), bits(gathered));
    EXPECT_EQ(bits(ops::scatter_add(tensor, index, from_values(values, {6, 2, 5}), 0)), bits(scattered));
}

TEST_F(Indexing, SixteenBitSumsRoundOnce) {
    // 1 + 2^-8 + 2^-8 = 1 + 2^-7 is a bf16; rounding after each addition would stay at 1.
    const std::vector<uint16_t> one = {0x3f80};
    const std::vector<uint16_t> small = {0x3b80, 0x3b80};
    const Tensor x = ops::from_bytes(one.data(), 1, {1}, DType::bf16);
    const Tensor values = ops::from_bytes(small.data(), 2, {2}, DType::bf16);
    const Tensor where = from_values(std::vector<int64_t>{0, 0}, {2});
    for (const Tensor& sum : {ops::index_add(x, where, values, 0), ops::scatter_add(x, where, values, 0)}) {
        uint16_t bits = 0;
        ops::copy_to_host(sum, &bits);
        EXPECT_EQ(bits, 0x3f81);
    }
}

TEST_F(Indexing, AnErrorNamesThePositionAndTheValue) {
    const Tensor weight = ops::zeros({5, 2});
    EXPECT_EQ(message_of([&] {
                  ops::embedding(weight, from_values(std::vector<int64_t>{0, 1, 2, 3, 4, 5}, {2, 3}));
              }),
              "[embedding] index 5 at position [1, 2]; weight has rows 0 to 4");
    EXPECT_EQ(message_of([&] { ops::one_hot(from_values(std::vector<int64_t>{-1}, {1}), 3); }),
              "[one_hot] index -1 at position [0]; classes are 0 to 2");
    EXPECT_EQ(message_of([&] {
                  ops::gather(weight, from_values(std::vector<float>{0}, {1, 1}), 1);
              }),
              "[gather] indices are i64 or i32, not f32[1, 1]");
}

TEST_F(Indexing, OneHotMarksEachIndex) {
    EXPECT_EQ(to_vector<int64_t>(ops::one_hot(from_values(std::vector<int64_t>{2, 0}, {2}), 3)),
              (std::vector<int64_t>{0, 0, 1, 1, 0, 0}));
}

TEST_F(Indexing, TrianglesKeepTheirSide) {
    const Tensor x = ops::ones({2, 3, 4}, DType::i32);
    EXPECT_EQ(to_vector<int32_t>(ops::select(ops::tril(x, 1), 0, 1)),
              (std::vector<int32_t>{1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}));
    EXPECT_EQ(to_vector<int32_t>(ops::select(ops::triu(x, -1), 0, 0)),
              (std::vector<int32_t>{1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1}));
    EXPECT_EQ(to_vector<int32_t>(ops::select(ops::tril(x, -9), 0, 0)), std::vector<int32_t>(12, 0));
}

}  // namespace
}  // namespace tenon
