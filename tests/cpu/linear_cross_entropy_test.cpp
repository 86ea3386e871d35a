#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

class LinearCrossEntropy : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

struct Case {
    int64_t rows = 1, vocabulary = 1, features = 1;
    double divisor = 0;
    DType dtype = DType::f32;
};

std::string text(const Case& c) {
    return std::to_string(c.rows) + " rows, " + std::to_string(c.vocabulary) + " x " + std::to_string(c.features) +
           " " + std::string(name_of(c.dtype));
}

struct Operands {
    Tensor x, weight, target;
};

// Every seventh row is ignored.
Operands operands(const Case& c) {
    std::vector<int64_t> target;
    for (int64_t i = 0; i < c.rows; ++i) target.push_back(i % 7 == 3 ? -100 : i * 7919 % c.vocabulary);
    return {sweep::wide({c.rows, c.features}, c.dtype, 1), sweep::wide({c.vocabulary, c.features}, c.dtype, 2),
            from_values(target, {c.rows})};
}

std::vector<Tensor> run(const Case& c, const Operands& o) {
    const auto [loss, dx, dw] = ops::linear_cross_entropy_forward(o.x, o.weight, o.target, -100, c.divisor, true);
    return {loss, dx, dw};
}

const char* const kNames[] = {"loss", "dx", "dw"};

void expect_reference_bits(const Case& c) {
    const Operands o = operands(c);
    std::vector<Tensor> expected;
    {
        const ops::ForceProvider reference("linear_cross_entropy_forward", "reference");
        expected = run(c, o);
    }
    sweep::over_sets_and_threads([&](const std::string& where) {
        const std::vector<Tensor> results = run(c, o);
        for (size_t i = 0; i < results.size(); ++i) {
            EXPECT_EQ(bits(results[i]), bits(expected[i])) << kNames[i] << " of " << text(c) << ", " << where;
        }
        const Tensor alone =
            std::get<0>(ops::linear_cross_entropy_forward(o.x, o.weight, o.target, -100, c.divisor, false));
        EXPECT_EQ(bits(alone), bits(expected[0])) << text(c) << ", " << where;
    });
}

TEST_F(LinearCrossEntropy, ChunksHaveTheBitsOfThePlainLoops) {
    const std::vector<Case> cases = {{1, 1, 1},      {5, 7, 3},    {17, 130, 33, 64.0}, {40, 4099, 5},
                                     {33, 2048, 16}, {520, 19, 7}, {1030, 5, 3, 77.0}};
    for (const Case& c : cases) expect_reference_bits(c);
}

TEST_F(LinearCrossEntropy, SixteenBitGradientsRoundOnce) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
        expect_reference_bits({20, 30, 5, 0, dtype});
        expect_reference_bits({520, 18, 3, 0, dtype});  // two chunks: dw waits in f32
    }
}

TEST_F(LinearCrossEntropy, AnyLayout) {
    const Case c{20, 33, 6};
    const Operands o = operands(c);
    const std::vector<Tensor> expected = run(c, o);
    for (const Tensor& x : sweep::layouts(o.x)) {
        for (const Tensor& weight : sweep::layouts(o.weight)) {
            for (const Tensor& target : sweep::layouts(o.target)) {
                const std::vector<Tensor> results = run(c, {x, weight, target});
                for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(bits(results[i]), bits(expected[i])) << kNames[i];
            }
        }
    }
}

// By definition, in f64.
TEST_F(LinearCrossEntropy, AgreesWithItsDefinitionInDoublePrecision) {
    for (Case c : {Case{20, 33, 6}, Case{600, 300, 4, 500.0}, Case{9, 4100, 3}}) {
        for (const DType dtype : {DType::f32, DType::f64}) {
            c.dtype = dtype;
            const Operands o = operands(c);
            const auto wide = [](const Tensor& x) { return to_vector<double>(ops::cast(x, DType::f64)); };
            const std::vector<double> x = wide(o.x), w = wide(o.weight);
            const std::vector<int64_t> target = to_vector<int64_t>(o.target);
            const auto features = static_cast<size_t>(c.features), vocabulary = static_cast<size_t>(c.vocabulary);
            double loss = 0;
            std::vector<double> dx(x.size()), dw(w.size());
            const auto valid =
                static_cast<double>(std::count_if(target.begin(), target.end(), [](int64_t t) { return t != -100; }));
            const double divisor = c.divisor > 0 ? c.divisor : valid;
            for (size_t i = 0; i < target.size(); ++i) {
                if (target[i] == -100) continue;
                std::vector<double> z(vocabulary);
                double total = 0;
                for (size_t j = 0; j < vocabulary; ++j) {
                    for (size_t f = 0; f < features; ++f) z[j] += x[i * features + f] * w[j * features + f];
                    total += std::exp(z[j]);
                }
                loss += (std::log(total) - z[static_cast<size_t>(target[i])]) / divisor;
                for (size_t j = 0; j < vocabulary; ++j) {
                    const double g = (std::exp(z[j]) / total - (static_cast<size_t>(target[i]) == j ? 1 : 0)) / divisor;
                    for (size_t f = 0; f < features; ++f) {
                        dx[i * features + f] += g * w[j * features + f];
                        dw[j * features + f] += g * x[i * features + f];
                    }
                }
            }
            const std::vector<Tensor> results = run(c, o);
            const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
            EXPECT_NEAR(wide(results[0])[0], loss, tolerance * (1 + std::abs(loss))) << text(c);
            for (size_t r = 1; r < 3; ++r) {
                const std::vector<double> values = wide(results[r]), &truth = r == 1 ? dx : dw;
                double most = 0, size = 0;
                for (size_t i = 0; i < truth.size(); ++i) {
                    most = std::max(most, std::abs(values[i] - truth[i]));
                    size = std::max(size, std::abs(truth[i]));
                }
                EXPECT_LE(most, tolerance * size) << kNames[r] << " of " << text(c);
            }
        }
    }
}

TEST_F(LinearCrossEntropy, ARowThatIsIgnoredHasNoPartInAnything) {
    const Case c{8, 20, 5};
    const Operands o = operands(c);
    const std::vector<Tensor> clean = run(c, o);
    for (const double great : {1e30, 3e38}) {                          // the latter's logits overflow
        ops::assign(ops::narrow(o.x, 0, 3, 1), ops::full({}, great));  // row 3 is ignored
        const std::vector<Tensor> other = run(c, o);
        for (size_t i = 0; i < clean.size(); ++i) EXPECT_EQ(bits(other[i]), bits(clean[i])) << kNames[i] << great;
    }
    EXPECT_EQ(bits(ops::narrow(clean[1], 0, 3, 1)), bits(ops::zeros({1, 5})));
}

TEST_F(LinearCrossEntropy, TargetsOutsideTheVocabularyAreNamed) {
    const Operands o = operands({2, 5, 3});
    for (const int64_t wrong : {5, -1}) {
        try {
            ops::linear_cross_entropy(o.x, o.weight, from_values(std::vector<int64_t>{1, wrong}, {2}));
            ADD_FAILURE() << "accepted " << wrong;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("target[1] is " + std::to_string(wrong)), std::string::npos)
                << error.what();
        }
    }
}

TEST_F(LinearCrossEntropy, MetaCountsTheFlopsAndTheMemoryThatAreUsed) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
        const Case c{600, 70, 9, 0, dtype};
        const Operands real = operands(c);
        const auto on_meta = [](const Tensor& x) { return Tensor(x.shape(), x.dtype(), Device::meta); };
        const Operands meta{on_meta(real.x), on_meta(real.weight), on_meta(real.target)};
        const auto most = [&](const Operands& o, Device device) {
            const int64_t before = memory_counts(device).live;
            reset_peak(device);
            run(c, o);
            return memory_counts(device).peak - before;
        };
        EXPECT_EQ(most(meta, Device::meta), most(real, Device::cpu));
        ops::CostCounter counter;
        run(c, real);
        EXPECT_EQ(counter.total().flops, 6.0 * 600 * 70 * 9);
    }
}

}  // namespace
}  // namespace tenon
