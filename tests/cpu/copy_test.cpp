#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::from_values;
using ops::to_vector;

class Copy : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

template <typename T>
Tensor counting(const Shape& shape) {
    std::vector<T> values(static_cast<size_t>(numel(shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 120);
    return from_values(values, shape);
}

// The element at each logical index, found by the strides alone in a host copy of the whole storage.
template <typename T>
std::vector<T> by_index(const std::vector<T>& base, const Shape& shape, const Dims& strides, int64_t offset) {
    std::vector<T> values;
    Dims at(shape.size(), 0);
    for (int64_t i = 0; i < numel(shape); ++i) {
        int64_t where = offset;
        for (int64_t d = 0, left = i; d < shape.size(); ++d) {
            const int64_t d_back = shape.size() - 1 - d;
            where += left % shape[d_back] * strides[d_back];
            left /= shape[d_back];
        }
        values.push_back(base[static_cast<size_t>(where)]);
    }
    return values;
}

template <typename T>
void expect_copies_match() {
    const Tensor base = counting<T>({5, 33, 70});
    const std::vector<T> all = to_vector<T>(base);
    const Tensor views[] = {
        base,
        ops::transpose(base),
        ops::permute(base, {1, 0, 2}),
        ops::permute(base, {2, 0, 1}),
        ops::permute(base, {2, 1, 0}),
        ops::narrow(base, 2, 3, 17),
        ops::transpose(ops::narrow(base, 1, 1, 31)),
        ops::expand(ops::narrow(base, 1, 4, 1), {5, 6, 70}),
        ops::expand(ops::narrow(base, 2, 4, 1), {5, 33, 20}),
        ops::narrow(base, 0, 2, 0),
    };
    for (const Tensor& view : views) {
        const int64_t offset = view.byte_offset() / size_of(view.dtype());
        const std::vector<T> expected = by_index(all, view.shape(), view.strides(), offset);
        const Tensor copy = ops::clone(view);
        EXPECT_TRUE(copy.is_contiguous());
        EXPECT_EQ(to_vector<T>(copy), expected) << describe(view) << " strides " << to_string(view.strides());
        EXPECT_EQ(to_vector<T>(view), expected);
    }
}

// 16-bit elements keep all their bits, NaNs among them.
void expect_halves_match() {
    std::vector<uint16_t> bits(37 * 70);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i * 40503U);
    const Tensor x = ops::from_bytes(bits.data(), 37 * 70, {37, 70}, DType::bf16);
    std::vector<uint16_t> out(37 * 70);
    ops::copy_to_host(ops::clone(ops::transpose(x)), out.data());
    EXPECT_EQ(out, by_index(bits, {70, 37}, {1, 70}, 0));
}

TEST_F(Copy, EveryLayoutIsReadInLogicalOrder) {
    expect_copies_match<uint8_t>();
    expect_copies_match<int32_t>();
    expect_copies_match<float>();
    expect_copies_match<double>();
    expect_copies_match<int64_t>();
}

TEST_F(Copy, EveryInstructionSetMovesTheSameBytes) {
    for (const auto set : sweep::sets()) {
        const cpu::ForcedInstructionSet forced(set);
        expect_copies_match<float>();
        expect_halves_match();
    }
}

TEST_F(Copy, LargeTransposeIsExactOnAnyThreadCount) {
    const int before = cpu::threads();
    const Tensor x = ops::arange(0, 517 * 1031, 1, DType::i32);
    const Tensor t = ops::transpose(ops::view(x, {517, 1031}));
    std::vector<int32_t> expected;
    for (int32_t r = 0; r < 1031; ++r) {
        for (int32_t c = 0; c < 517; ++c) expected.push_back(c * 1031 + r);
    }
    for (const int threads : {1, 2, 3}) {
        cpu::set_threads(threads);
        EXPECT_EQ(to_vector<int32_t>(ops::clone(t)), expected);
    }
    cpu::set_threads(before);
}

TEST_F(Copy, NaNPayloadsAndSignedZerosSurviveATranspose) {
    std::vector<int32_t> bits(20 * 20);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<int32_t>(0x7f800001U + i * 0x01000193U);
    const Tensor x = ops::from_bytes(bits.data(), 400, {20, 20}, DType::f32);
    std::vector<int32_t> out(400);
    ops::copy_to_host(ops::clone(ops::transpose(x)), out.data());
    for (size_t r = 0; r < 20; ++r) {
        for (size_t c = 0; c < 20; ++c) EXPECT_EQ(out[r * 20 + c], bits[c * 20 + r]);
    }
}

TEST_F(Copy, AssignBroadcastsAndConverts) {
    const Tensor x = ops::zeros({2, 3}, DType::f32);
    ops::assign(x, from_values(std::vector<int64_t>{1, 2, 3}, {3}));
    EXPECT_EQ(to_vector<float>(x), (std::vector<float>{1, 2, 3, 1, 2, 3}));
    ops::assign(ops::select(x, 1, 0), from_values(std::vector<double>{7.5, -8}, {2}));
    EXPECT_EQ(to_vector<float>(x), (std::vector<float>{7.5, 2, 3, -8, 2, 3}));
    const Tensor whole = ops::zeros({2}, DType::i64);
    ops::assign(whole, from_values(std::vector<float>{-1.9F, 2.9F}, {2}));
    EXPECT_EQ(to_vector<int64_t>(whole), (std::vector<int64_t>{-1, 2}));
}

TEST_F(Copy, AssignFromAViewOfTheSameTensorReadsTheOldValues) {
    const Tensor x = counting<float>({3, 3});
    ops::assign(x, ops::transpose(x));
    EXPECT_EQ(to_vector<float>(x), (std::vector<float>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
}

TEST_F(Copy, CatJoinsViewsAndPromotes) {
    const Tensor x = counting<float>({2, 3});
    const Tensor parts[] = {ops::transpose(x), ops::ones({3, 1}, DType::i64)};
    EXPECT_EQ(to_vector<float>(ops::cat(parts, 1)), (std::vector<float>{0, 3, 1, 1, 4, 1, 2, 5, 1}));
}

TEST_F(Copy, ConstantsAndSequencesFillEveryDtype) {
    EXPECT_EQ(to_vector<float>(ops::full({2}, -1.5)), (std::vector<float>{-1.5, -1.5}));
    EXPECT_EQ(to_vector<int32_t>(ops::full({2}, 7, DType::i32)), (std::vector<int32_t>{7, 7}));
    std::vector<uint16_t> halves(2);
    ops::copy_to_host(ops::full({2}, 1.0, DType::bf16), halves.data());
    EXPECT_EQ(halves, (std::vector<uint16_t>{0x3f80, 0x3f80}));
    ops::copy_to_host(ops::full({2}, -2.0, DType::f16), halves.data());
    EXPECT_EQ(halves, (std::vector<uint16_t>{0xc000, 0xc000}));
    EXPECT_EQ(to_vector<double>(ops::arange(1, 0, -0.25, DType::f64)), (std::vector<double>{1, 0.75, 0.5, 0.25}));
    const std::vector<int64_t> long_one = to_vector<int64_t>(ops::arange(5, 20005));
    EXPECT_EQ(long_one.size(), 20000U);
    EXPECT_EQ(long_one.front(), 5);
    EXPECT_EQ(long_one.back(), 20004);
}

TEST_F(Copy, AMetaTensorHasNoValues) {
    const Tensor x = ops::zeros({2}, DType::f32, Device::meta);
    float values[2];
    EXPECT_THROW(ops::copy_to_host(x, values), Error);
    EXPECT_EQ(ops::clone(x).shape(), (Shape{2}));
}

}  // namespace
}  // namespace tenon
