#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/cpu/golden.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::from_values;
using ops::to_vector;
using sweep::expect_reference_bits;
using sweep::wide;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Softmax : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

struct Case {
    Shape shape;
    int64_t dim;
};
const Case kCases[] = {{{}, 0},        {{1}, 0},        {{5}, -1},        {{3, 16}, 1},   {{7, 33}, -1},
                       {{7, 33}, 0},   {{2, 5, 40}, 1}, {{3, 5000}, 1},   {{5000, 3}, 0}, {{3, 1, 9}, 1},
                       {{40, 130}, 1}, {{0, 3}, 1},     {{2, 3, 65}, -1}, {{2, 9000}, 1}};

TEST_F(Softmax, EverySetThreadCountAndLayoutGivesTheReferencesBits) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        for (const auto& [shape, dim] : kCases) {
            const Tensor x = wide(shape, dtype);
            const std::string what =
                to_string(shape) + " dim " + std::to_string(dim) + " " + std::string(name_of(dtype));
            expect_reference_bits(
                "softmax", x, [d = dim](const Tensor& t) { return ops::softmax(t, d); }, what);
            expect_reference_bits(
                "log_softmax", x, [d = dim](const Tensor& t) { return ops::log_softmax(t, d); }, what);
            expect_reference_bits(
                "logsumexp_along", x, [d = dim](const Tensor& t) { return ops::logsumexp_along(t, d); }, what);
        }
    }
}

TEST_F(Softmax, GradientsHaveTheReferencesBits) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
        for (const auto& [shape, dim] : kCases) {
            const Tensor y = ops::softmax(wide(shape, dtype), dim);
            const std::string what =
                to_string(shape) + " dim " + std::to_string(dim) + " " + std::string(name_of(dtype));
            expect_reference_bits(
                "softmax_backward", wide(shape, dtype, 7),
                [&, d = dim](const Tensor& g) { return ops::softmax_backward(g, y, d); }, what);
            expect_reference_bits(
                "log_softmax_backward", wide(shape, dtype, 7),
                [&, d = dim](const Tensor& g) { return ops::log_softmax_backward(g, y, d); }, what);
        }
    }
}

TEST_F(Softmax, ValuesAndGradientsAgreeWithPyTorchInFloat64) {
    const golden::Family family("softmax");
    for (const bool is_log : {false, true}) {
        family.over(is_log ? "log_softmax" : "softmax", [&](const std::string& name, const base::Json& entry) {
            const int64_t dim = entry.at("attributes").at("dim").integer();
            const Tensor x = family.tensor(name + ".x");
            const Tensor y = is_log ? ops::log_softmax(x, dim) : ops::softmax(x, dim);
            golden::expect_near(y, family.tensor(name + ".output"), 1e-6);
            const Tensor g = ops::cast(family.tensor(name + ".incoming"), x.dtype());
            if (x.dtype() != DType::f32) return;  // PyTorch's gradient there is of unrounded outputs
            const Tensor dx = is_log ? ops::log_softmax_backward(g, y, dim) : ops::softmax_backward(g, y, dim);
            golden::expect_near(dx, family.tensor(name + ".d_x"), 2e-6);
        });
    }
    family.over("logsumexp", [&](const std::string& name, const base::Json& entry) {
        Dims dims;
        for (const base::Json& dim : entry.at("attributes").at("dims").array_value()) dims.push_back(dim.integer());
        const Tensor out =
            ops::logsumexp(family.tensor(name + ".x"), dims, entry.at("attributes").at("keepdim").boolean());
        golden::expect_near(out, family.tensor(name + ".output"), 1e-6);
    });
}

TEST_F(Softmax, RowsWithoutElementsSumToNothing) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
        const Tensor sums = ops::logsumexp(ops::zeros({2, 0}, dtype), Dims{1});
        EXPECT_EQ(to_vector<double>(ops::cast(sums, DType::f64)), (std::vector<double>{-HUGE_VAL, -HUGE_VAL}));
        EXPECT_EQ(ops::softmax(ops::zeros({2, 0}, dtype)).shape(), (Shape{2, 0}));
        EXPECT_EQ(ops::log_softmax(ops::zeros({0, 3}, dtype)).shape(), (Shape{0, 3}));
    }
}

TEST_F(Softmax, RowsOfInfinitiesDoWhatPyTorchDoes) {
    const Tensor x = from_values(std::vector<float>{-kInfinity, -kInfinity, 0, -kInfinity, kInfinity, 0}, {3, 2});
    sweep::over_sets_and_threads([&](const std::string& where) {
        const std::vector<float> y = to_vector<float>(ops::softmax(x));
        EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << where;
        EXPECT_EQ(y[2], 1.0f) << where;
        EXPECT_EQ(y[3], 0.0f) << where;
        EXPECT_TRUE(std::isnan(y[4])) << where;
        const std::vector<float> sums = to_vector<float>(ops::logsumexp(x, {1}));
        EXPECT_EQ(sums, (std::vector<float>{-kInfinity, 0, kInfinity})) << where;
    });
}

}  // namespace
}  // namespace tenon
