#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tenon/base/error.h"
#include "tests/cpu/golden.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::from_values;
using ops::to_vector;
using sweep::bits;
using sweep::expect_reference_bits;
using sweep::wide;

class CrossEntropy : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

// Every fourth target is ignored.
Tensor targets_for(const Shape& logits) {
    Shape shape = logits;
    shape.resize(logits.size() - 1);
    std::vector<int64_t> targets;
    for (int64_t row = 0; row < numel(shape); ++row) targets.push_back(row % 4 == 3 ? -100 : row * 7 % logits.back());
    return from_values(targets, shape);
}

const Shape kShapes[] = {{1, 1}, {5, 7}, {2, 3, 33}, {40, 100}, {3, 5000}, {5000, 4}, {0, 3}};

TEST_F(CrossEntropy, EverySetThreadCountAndLayoutGivesTheReferencesBits) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
        for (const Shape& shape : kShapes) {
            for (const double divisor : {0.0, 12.0}) {
                const Tensor targets = targets_for(shape);
                const std::string what = to_string(shape) + " " + std::string(name_of(dtype));
                const auto forward = [&](const Tensor& z) {
                    const auto [loss, lse] = ops::cross_entropy_forward(z, targets, -100, divisor);
                    const Tensor both[] = {ops::reshape(ops::cast(loss, DType::f32), {1}), ops::reshape(lse, {-1})};
                    return ops::cat(both, 0);
                };
                const Tensor z = wide(shape, dtype);
                expect_reference_bits("cross_entropy_forward", z, forward, what);
                const auto [loss, lse] = ops::cross_entropy_forward(z, targets, -100, divisor);
                const Tensor g = ops::full({}, 1.25, dtype);
                const auto backward = [&, sums = lse](const Tensor& t) {
                    return ops::cross_entropy_backward(g, t, targets, sums, -100, divisor);
                };
                expect_reference_bits("cross_entropy_backward", z, backward, what);
            }
        }
    }
}

TEST_F(CrossEntropy, LossAndGradientAgreeWithPyTorchInFloat64) {
    const golden::Family family("cross_entropy");
    family.over("cross_entropy", [&](const std::string& name, const base::Json& entry) {
        const Tensor z = family.tensor(name + ".logits"), targets = family.tensor(name + ".target");
        const base::Json& attributes = entry.at("attributes");
        const int64_t ignored = attributes.at("ignore_index").integer();
        const double divisor = attributes.at("reduction").string() == "sum" ? 1 : 0;
        const auto [loss, lse] = ops::cross_entropy_forward(z, targets, ignored, divisor);
        golden::expect_near(loss, family.tensor(name + ".output"), 1e-6);
        golden::expect_near(
            ops::cross_entropy_backward(family.tensor(name + ".incoming"), z, targets, lse, ignored, divisor),
            family.tensor(name + ".d_logits"), 2e-6);
    });
}

TEST_F(CrossEntropy, IgnoredRowsHaveZeroGradientWhateverTheirLogits) {
    const float nan = std::nanf("");
    const Tensor z = from_values(std::vector<float>{1, 2, nan, nan, 3, -1}, {3, 2});
    const Tensor targets = from_values(std::vector<int64_t>{1, -100, 0}, {3});
    sweep::over_sets_and_threads([&](const std::string& where) {
        const auto [loss, lse] = ops::cross_entropy_forward(z, targets, -100, 0);
        EXPECT_TRUE(std::isfinite(to_vector<float>(loss)[0])) << where;
        const std::vector<uint64_t> gradient =
            bits(ops::cross_entropy_backward(ops::ones({}), z, targets, lse, -100, 0));
        EXPECT_EQ(gradient[2], 0u) << where;  // +0
        EXPECT_EQ(gradient[3], 0u) << where;
    });
}

TEST_F(CrossEntropy, NothingToLearnFromIsNaNAsInPyTorch) {
    const Tensor targets = from_values(std::vector<int64_t>{-100, -100}, {2});
    EXPECT_TRUE(std::isnan(to_vector<float>(ops::cross_entropy(wide({2, 3}), targets))[0]));
    EXPECT_EQ(to_vector<float>(ops::cross_entropy(wide({2, 3}), targets, -100, 4))[0], 0.0f);
}

TEST_F(CrossEntropy, ATargetOutOfRangeNamesRowAndValue) {
    const Tensor z = wide({3, 5});
    for (const int64_t bad : {int64_t{5}, int64_t{-1}}) {
        const Tensor targets = from_values(std::vector<int64_t>{0, 4, bad}, {3});
        try {
            ops::cross_entropy(z, targets);
            FAIL();
        } catch (const Error& error) {
            const std::string expected = "row 2 has target " + std::to_string(bad) + "; logits have 5 classes, 0 to 4";
            EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace tenon
