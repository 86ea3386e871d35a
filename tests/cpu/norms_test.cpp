#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tenon/base/error.h"
#include "tests/cpu/golden.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::to_vector;
using sweep::bits;
using sweep::expect_reference_bits;
using sweep::wide;

class Norms : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

// All results of an op as one list of bits.
template <class... Tensors>
Tensor joined(const Tensors&... tensors) {
    std::vector<Tensor> flat;
    (flat.push_back(ops::reshape(ops::cast(tensors, DType::f32), {-1})), ...);
    return ops::cat(flat, 0);
}

const Shape kShapes[] = {{1, 1},    {3, 8},    {2, 3, 17}, {33, 100}, {5, 4100},
                         {18, 768}, {4101, 5}, {0, 3},     {1, 9000}, {16, 16}};

TEST_F(Norms, EverySetThreadCountAndLayoutGivesTheReferencesBits) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        for (const Shape& shape : kShapes) {
            const Tensor x = wide(shape, dtype), g = wide(shape, dtype, 5);
            const Tensor w = wide({shape.back()}, dtype, 3), b = wide({shape.back()}, dtype, 4);
            const std::string what = to_string(shape) + " " + std::string(name_of(dtype));
            const auto rms = [&](const Tensor& t) {
                const auto [out, r] = ops::rms_norm_forward(t, w, 1e-6);
                return joined(out, r);
            };
            expect_reference_bits("rms_norm_forward", x, rms, what);
            const auto layer = [&](const Tensor& t) {
                const auto [out, mean, r] = ops::layer_norm_forward(t, w, b, 1e-5);
                return joined(out, mean, r);
            };
            expect_reference_bits("layer_norm_forward", x, layer, what);
            const auto [rms_out, rms_r] = ops::rms_norm_forward(x, w, 1e-6);
            const auto rms_gradient = [&, root = rms_r](const Tensor& t) {
                const auto [dx, dw] = ops::rms_norm_backward(t, x, w, root);
                return joined(dx, dw);
            };
            expect_reference_bits("rms_norm_backward", g, rms_gradient, what);
            const auto [layer_out, mean, layer_r] = ops::layer_norm_forward(x, w, b, 1e-5);
            const auto layer_gradient = [&, centre = mean, root = layer_r](const Tensor& t) {
                const auto [dx, dw, db] = ops::layer_norm_backward(t, x, w, centre, root);
                return joined(dx, dw, db);
            };
            expect_reference_bits("layer_norm_backward", g, layer_gradient, what);
        }
    }
}

TEST_F(Norms, AWeightLeftOutIsAWeightOfOnes) {
    const Tensor x = wide({7, 33}), g = wide({7, 33}, DType::f32, 2), ones = ops::ones({33});
    EXPECT_EQ(bits(ops::rms_norm(x)), bits(ops::rms_norm(x, ones)));
    EXPECT_EQ(bits(ops::layer_norm(x)), bits(ops::layer_norm(x, ones, ops::zeros({33}))));
    const auto [out, r] = ops::rms_norm_forward(x, ones, 1e-6);
    EXPECT_EQ(bits(std::get<0>(ops::rms_norm_backward(g, x, Tensor(), r))),
              bits(std::get<0>(ops::rms_norm_backward(g, x, ones, r))));
    EXPECT_FALSE(std::get<1>(ops::rms_norm_backward(g, x, Tensor(), r)).defined());
}

TEST_F(Norms, WeightGradientsAreSumsOverRowsInTheOrderOfSums) {
    const Tensor x = wide({9001, 3}), g = wide({9001, 3}, DType::f32, 2), w = wide({3}, DType::f32, 3);
    const auto [out, r] = ops::rms_norm_forward(x, w, 1e-6);
    const Tensor h = ops::mul(x, ops::unsqueeze(r, -1));
    EXPECT_EQ(bits(std::get<1>(ops::rms_norm_backward(g, x, w, r))), bits(ops::sum(ops::mul(g, h), {0})));
    const auto [layer_out, mean, root] = ops::layer_norm_forward(x, w, w, 1e-5);
    EXPECT_EQ(bits(std::get<2>(ops::layer_norm_backward(g, x, w, mean, root))), bits(ops::sum(g, {0})));
}

TEST_F(Norms, ARowsBitsDoNotDependOnTheOthers) {
    const Tensor x = wide({37, 100}), w = wide({100}, DType::f32, 3);
    const Tensor whole = ops::layer_norm(x, w, w);
    for (int64_t row = 0; row < 37; ++row) {
        EXPECT_EQ(bits(ops::layer_norm(ops::narrow(x, 0, row, 1), w, w)), bits(ops::narrow(whole, 0, row, 1)));
    }
}

TEST_F(Norms, ValuesAndGradientsAgreeWithPyTorchInFloat64) {
    const golden::Family family("norms");
    const auto tensor = [&](const std::string& name, const char* what) { return family.tensor(name + "." + what); };
    family.over("rms_norm", [&](const std::string& name, const base::Json& entry) {
        const Tensor x = tensor(name, "x"), w = tensor(name, "weight");
        const auto [out, r] = ops::rms_norm_forward(x, w, entry.at("attributes").at("eps").real());
        golden::expect_near(out, tensor(name, "output"), 1e-6);
        const auto [dx, dw] = ops::rms_norm_backward(tensor(name, "incoming"), x, w, r);
        golden::expect_near(dw, tensor(name, "d_weight"), 2e-6);
        // One element: dx is a difference of equal numbers, and eps is all that keeps it from 0.
        if (x.numel() > 1) golden::expect_near(dx, tensor(name, "d_x"), 4e-6);
    });
    family.over("layer_norm", [&](const std::string& name, const base::Json& entry) {
        const Tensor x = tensor(name, "x"), w = tensor(name, "weight"), b = tensor(name, "bias");
        const auto [out, mean, r] = ops::layer_norm_forward(x, w, b, entry.at("attributes").at("eps").real());
        golden::expect_near(out, tensor(name, "output"), 1e-6);
        const auto [dx, dw, db] = ops::layer_norm_backward(tensor(name, "incoming"), x, w, mean, r);
        if (x.numel() > 1) golden::expect_near(dx, tensor(name, "d_x"), 4e-6);
        golden::expect_near(dw, tensor(name, "d_weight"), 4e-6);
        golden::expect_near(db, tensor(name, "d_bias"), 1e-6);
    });
}

}  // namespace
}  // namespace tenon
