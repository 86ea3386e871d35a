#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tenon/base/error.h"
#include "tests/cpu/documented_sum.h"
#include "tests/cpu/golden.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::from_values;
using ops::to_vector;
using sweep::bits;
using sweep::expect_reference_bits;
using sweep::wide;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Reductions : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

TEST_F(Reductions, SumAddsInTheDocumentedOrder) {
    for (const int64_t n :
         {1, 2, 15, 16, 17, 33, 100, 4095, 4096, 4097, 3 * 4096, 7 * 4096 + 5, 65536, 65537, 21 * 65536 + 4099}) {
        const std::vector<float> values = sweep::wide_values(n);
        const std::vector<uint64_t> expected = bits(std::vector<float>{tests::documented_sum(values)});
        const Tensor x = from_values(values, {n});
        sweep::over_sets_and_threads(
            [&](const std::string& where) { EXPECT_EQ(bits(ops::sum(x)), expected) << n << ", " << where; });
        const ops::ForceProvider reference("sum", "reference");
        EXPECT_EQ(bits(ops::sum(x)), expected) << n;
    }
}

TEST_F(Reductions, SumsDownColumnsHaveTheBitsOfSumsAlongRows) {
    for (const int64_t n : {1, 7, 16, 63, 64, 65, 200, 4096, 4097, 9000}) {
        for (const int64_t columns : {1, 2, 15, 16, 17, 63, 64, 65, 130}) {
            const Tensor x = wide({n, columns});
            const auto expected = bits(ops::sum(ops::contiguous(ops::transpose(x)), {1}));
            sweep::over_sets_and_threads([&](const std::string& where) {
                EXPECT_EQ(bits(ops::sum(x, {0})), expected) << n << " by " << columns << ", " << where;
            });
        }
    }
}

struct Case {
    Shape shape;
    Dims dims;
};
const Case kCases[] = {
    {{}, {}},
    {{5}, {}},
    {{3, 5}, {0}},
    {{3, 5}, {1}},
    {{70, 33}, {0}},
    {{70, 33}, {-1}},
    {{4, 3, 130}, {0, 1}},
    {{4, 3, 130}, {0, 2}},
    {{4, 35, 30}, {1}},
    {{5, 3, 2, 6}, {0, 2}},
    {{5, 3, 2, 6}, {3, 1}},
    {{2, 4100, 3}, {1}},
    {{3, 1, 40}, {1}},
    {{2, 3, 4100}, {2, 0}},
    {{0, 3}, {1}},
};

TEST_F(Reductions, EverySetThreadCountAndLayoutGivesTheReferencesBits) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        for (const Case& c : kCases) {
            const Tensor x = wide(c.shape, dtype);
            const std::string what =
                to_string(c.shape) + " over " + to_string(c.dims) + " " + std::string(name_of(dtype));
            expect_reference_bits(
                "sum", x, [&](const Tensor& t) { return ops::sum(t, c.dims); }, what);
            expect_reference_bits(
                "mean", x, [&](const Tensor& t) { return ops::mean(t, c.dims, true); }, what);
            expect_reference_bits(
                "amax", x, [&](const Tensor& t) { return ops::amax(t, c.dims); }, what);
            expect_reference_bits(
                "amin", x, [&](const Tensor& t) { return ops::amin(t, c.dims); }, what);
            for (int64_t dim = 0; dim < x.rank(); ++dim) {
                if (x.size(dim) == 0) continue;
                expect_reference_bits(
                    "argmax", x, [&](const Tensor& t) { return ops::argmax(t, dim); }, what);
            }
        }
    }
}

TEST_F(Reductions, SumAgreesWithFloat64) {
    const Tensor x = wide({37, 5000});
    const std::vector<float> values = to_vector<float>(x), sums = to_vector<float>(ops::sum(x, {1}));
    for (size_t row = 0; row < 37; ++row) {
        double sum = 0, size = 0;
        for (size_t i = 0; i < 5000; ++i) sum += values[row * 5000 + i], size += std::abs(values[row * 5000 + i]);
        EXPECT_NEAR(sums[row], sum, 1e-7 * size);
    }
}

TEST_F(Reductions, SixteenBitSumsAddInFloat32AndRoundOnce) {
    const Tensor x = wide({3, 1000}, DType::bf16);
    EXPECT_EQ(bits(ops::sum(x, {1})), bits(ops::cast(ops::sum(ops::cast(x, DType::f32), {1}), DType::bf16)));
    EXPECT_EQ(bits(ops::mean(x, {1})), bits(ops::cast(ops::mean(ops::cast(x, DType::f32), {1}), DType::bf16)));
}

TEST_F(Reductions, IntegersAndBoolsAddExactlyIntoI64) {
    const int64_t big = int64_t{1} << 60;
    const Tensor x = from_values<int64_t>(std::vector<int64_t>{big, 1, -big, 2, 3, 4}, {2, 3});
    EXPECT_EQ(to_vector<int64_t>(ops::sum(x, {1})), (std::vector<int64_t>{1, 9}));
    const Tensor flags = ops::ones({3, 100}, DType::boolean);
    EXPECT_EQ(to_vector<int64_t>(ops::sum(flags)), (std::vector<int64_t>{300}));
    EXPECT_EQ(to_vector<int64_t>(ops::amax(x)), (std::vector<int64_t>{big}));
}

TEST_F(Reductions, ZerosAndNaNsOfExtremesAreStated) {
    const auto extreme = [](const std::vector<float>& v, bool greatest) {
        const Tensor x = from_values(v, {static_cast<int64_t>(v.size())});
        return to_vector<float>(greatest ? ops::amax(x) : ops::amin(x))[0];
    };
    sweep::over_sets_and_threads([&](const std::string& where) {
        for (const std::vector<float>& zeros : {std::vector<float>{0.0f, -0.0f}, std::vector<float>{-0.0f, 0.0f}}) {
            EXPECT_FALSE(std::signbit(extreme(zeros, true))) << where;
            EXPECT_TRUE(std::signbit(extreme(zeros, false))) << where;
        }
        for (size_t at = 0; at < 40; ++at) {
            std::vector<float> v(40, 1.0f);
            v[at] = kNan;
            EXPECT_TRUE(std::isnan(extreme(v, true))) << at << where;
            EXPECT_TRUE(std::isnan(extreme(v, false))) << at << where;
        }
        EXPECT_EQ(extreme({-kInfinity, -kInfinity}, true), -kInfinity);
        EXPECT_EQ(extreme({kInfinity}, false), kInfinity);
    });
}

TEST_F(Reductions, ArgmaxIsTheFirstIndexAndNaNIsGreatest) {
    const auto first = [](const std::vector<float>& v) {
        return to_vector<int64_t>(ops::argmax(from_values(v, {static_cast<int64_t>(v.size())})))[0];
    };
    sweep::over_sets_and_threads([&](const std::string& where) {
        EXPECT_EQ(first({1, 3, 3, 2}), 1) << where;
        EXPECT_EQ(first({-0.0f, 0.0f}), 0) << where;
        EXPECT_EQ(first({-kInfinity, -kInfinity}), 0) << where;
        std::vector<float> v(50, 1.0f);
        v[37] = kNan, v[40] = kNan, v[3] = kInfinity;
        EXPECT_EQ(first(v), 37) << where;
    });
}

TEST_F(Reductions, NothingSumsToZeroAndHasNoMean) {
    const Tensor x = ops::zeros({0, 3});
    EXPECT_EQ(to_vector<float>(ops::sum(x, {0})), (std::vector<float>{0, 0, 0}));
    EXPECT_TRUE(std::isnan(to_vector<float>(ops::mean(x))[0]));
    EXPECT_THROW(ops::amax(x, {0}), Error);
    EXPECT_FALSE(std::signbit(to_vector<float>(ops::sum(from_values(std::vector<float>{-0.0f}, {1})))[0]));
}

TEST_F(Reductions, ValuesAgreeWithPyTorchInFloat64) {
    const golden::Family family("reductions");
    for (const std::string op : {"sum", "mean", "amax", "argmax"}) {
        family.over(op, [&](const std::string& name, const base::Json& entry) {
            const base::Json& attributes = entry.at("attributes");
            const Tensor x = family.tensor(name + ".x"), truth = family.tensor(name + ".output");
            const bool keepdim = attributes.at("keepdim").boolean();
            if (op == "argmax") {
                EXPECT_EQ(bits(ops::argmax(x, attributes.at("dim").integer(), keepdim)), bits(truth));
                return;
            }
            Dims dims;
            for (const base::Json& dim : attributes.at("dims").array_value()) dims.push_back(dim.integer());
            const Tensor out = op == "sum"    ? ops::sum(x, dims, keepdim)
                               : op == "mean" ? ops::mean(x, dims, keepdim)
                                              : ops::amax(x, dims, keepdim);
            golden::expect_near(out, truth, op == "amax" ? 0 : 2e-6);
        });
    }
}

}  // namespace
}  // namespace tenon
