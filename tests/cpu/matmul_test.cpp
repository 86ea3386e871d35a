// matmul and linear over every layout that views can make, against the plain loops and against each other, bit for bit.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tenon/cpu/register.h"
#include "tenon/ops/dispatch.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/operators.h"
#include "tests/cpu/sweep.h"

namespace {

using namespace tenon;
using sweep::bits;

class Matmul : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

Tensor numbers(const Shape& shape, DType dtype = DType::f32) {
    const int64_t count = numel(shape);
    std::vector<float> all(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
        all[static_cast<size_t>(i)] = static_cast<float>((i * 7919 + 13) % 1009) / 512.0f - 1.0f;
    return ops::cast(ops::from_values(all, shape), dtype);
}

// The same elements, differently laid out in memory.
std::vector<Tensor> layouts(const Tensor& x) {
    std::vector<Tensor> all = {x};
    all.push_back(ops::transpose(ops::contiguous(ops::transpose(x))));
    if (x.rank() > 2) all.push_back(ops::transpose(ops::contiguous(ops::transpose(x, 0, -2)), 0, -2));
    Shape wide = x.shape();
    wide[x.rank() - 1] += 3;
    const Tensor padded = ops::zeros(wide, x.dtype());
    ops::assign(ops::narrow(padded, -1, 2, x.size(-1)), x);
    all.push_back(ops::narrow(padded, -1, 2, x.size(-1)));
    return all;
}

void expect_reference_bits(const Tensor& a, const Tensor& b) {
    std::vector<uint64_t> expected;
    {
        const ops::ForceProvider forced("bmm", "reference");
        expected = bits(ops::matmul(a, b));
    }
    for (const Tensor& left : layouts(a)) {
        for (const Tensor& right : layouts(b)) {
            EXPECT_EQ(bits(ops::matmul(left, right)), expected) << describe(a) << " x " << describe(b);
        }
    }
}

TEST_F(Matmul, LayoutsAndBatchesEqualThePlainLoops) {
    for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        expect_reference_bits(numbers({5, 7}, dtype), numbers({7, 33}, dtype));
        expect_reference_bits(numbers({4, 5, 7}, dtype), numbers({7, 20}, dtype));
        expect_reference_bits(numbers({5, 7}, dtype), numbers({3, 7, 20}, dtype));
        expect_reference_bits(numbers({2, 3, 5, 17}, dtype), numbers({2, 3, 17, 9}, dtype));
        expect_reference_bits(numbers({2, 1, 5, 17}, dtype), numbers({3, 17, 9}, dtype));
        expect_reference_bits(numbers({3, 1, 40}, dtype), numbers({40, 50}, dtype));
    }
}

TEST_F(Matmul, ABatchOfOneMatrixIsMoreRows) {
    const Tensor a = numbers({6, 1, 5, 30}), b = numbers({30, 21});
    const std::vector<uint64_t> together = bits(ops::matmul(a, b));
    std::vector<uint64_t> apart;
    for (int64_t i = 0; i < 6; ++i) {
        const std::vector<uint64_t> one = bits(ops::matmul(ops::select(ops::select(a, 0, i), 0, 0), b));
        apart.insert(apart.end(), one.begin(), one.end());
    }
    EXPECT_EQ(together, apart);
    const Tensor wide = ops::expand(numbers({1, 4, 30}), {5, 4, 30});
    EXPECT_EQ(bits(ops::matmul(wide, b)), bits(ops::matmul(ops::contiguous(wide), b)));
}

TEST_F(Matmul, IntegersMultiplyExactly) {
    const Tensor a = ops::from_values(std::vector<int64_t>{1, 2, 3, 4, 5, 6}, {2, 3});
    const Tensor b = ops::from_values(std::vector<int64_t>{1, -1, 0, 2, 5, 1}, {3, 2});
    EXPECT_EQ(ops::to_vector<int64_t>(ops::matmul(a, b)), (std::vector<int64_t>{16, 6, 34, 12}));
    EXPECT_EQ(ops::matmul(ops::cast(a, DType::i32), ops::cast(b, DType::i32)).dtype(), DType::i32);
}

TEST_F(Matmul, TwoVectorsGiveASumOfRoundedProducts) {
    const Tensor a = numbers({5000}), b = numbers({5000}) + 0.25;
    EXPECT_EQ(bits(ops::matmul(a, b)), bits(ops::sum(a * b)));
}

TEST_F(Matmul, LinearIsTheProductThenTheBias) {
    for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
        for (const Shape& shape : {Shape{19}, Shape{6, 19}, Shape{2, 3, 19}, Shape{0, 19}}) {
            const Tensor weight = numbers({37, 19}, dtype), bias = numbers({37}, dtype);
            for (const Tensor& x :
                 shape.size() > 1 ? layouts(numbers(shape, dtype)) : std::vector{numbers(shape, dtype)}) {
                for (const Tensor& w : layouts(weight)) {
                    EXPECT_EQ(bits(ops::linear(x, w)), bits(ops::matmul(x, ops::transpose(w))));
                    // 16-bit numbers: the whole in f32, rounded once.
                    const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
                    const Tensor whole =
                        ops::matmul(ops::cast(x, wide), ops::cast(ops::transpose(w), wide)) + ops::cast(bias, wide);
                    EXPECT_EQ(bits(ops::linear(x, w, bias)), bits(ops::cast(whole, dtype))) << describe(x);
                    const Tensor strided = ops::select(ops::transpose(ops::stack(std::vector{bias, bias})), 1, 1);
                    EXPECT_EQ(bits(ops::linear(x, w, strided)), bits(ops::cast(whole, dtype)));
                }
            }
        }
    }
}

TEST_F(Matmul, SixteenBitLinearRoundsOnceWithItsBias) {
    const auto bf16 = [](const std::vector<float>& from, const Shape& shape) {
        return ops::cast(ops::from_values(from, shape), DType::bf16);
    };
    // 257 is no bf16: rounded before the bias came it would be 256.
    const Tensor y = ops::linear(bf16({1, 1}, {1, 2}), bf16({256, 1}, {1, 2}), bf16({-256}, {1}));
    EXPECT_EQ(bits(y), bits(std::vector<float>{1}));
}

TEST_F(Matmul, LinearsProvidersAgree) {
    const Tensor x = numbers({3, 5, 70}), weight = numbers({40, 70}), bias = numbers({40});
    const std::vector<uint64_t> fast = bits(ops::linear(x, weight, bias));
    const ops::ForceProvider forced("linear", "reference");
    EXPECT_EQ(bits(ops::linear(x, weight, bias)), fast);
}

}  // namespace
