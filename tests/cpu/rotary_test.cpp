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

class Rotary : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

TEST_F(Rotary, EverySetThreadCountAndLayoutGivesTheReferencesBits) {
    const Shape shapes[] = {{2, 3, 5, 8}, {1, 2, 300, 64}, {2, 3, 2}, {34}, {3, 7, 130}, {0, 3, 4}};
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        for (const Shape& shape : shapes) {
            const int64_t half = shape.back() / 2;
            const auto [cos, sin] = ops::rope_tables(shape.size() > 1 ? shape[shape.size() - 2] : 1, 2 * half);
            const Tensor c = shape.size() > 1 ? cos : ops::reshape(cos, {half});
            const Tensor s = shape.size() > 1 ? sin : ops::reshape(sin, {half});
            for (const bool inverse : {false, true}) {
                expect_reference_bits(
                    "rope", wide(shape, dtype), [&](const Tensor& x) { return ops::rope(x, c, s, inverse); },
                    to_string(shape) + " " + std::string(name_of(dtype)));
            }
        }
    }
}

TEST_F(Rotary, TablesHaveTheHostFunctionsBitsAtAnyPosition) {
    for (const double theta : {10000.0, 500000.0, 1.0}) {
        for (const int64_t head_dim : {2, 32, 34, 128}) {
            const auto run = [&] {
                const auto [cos, sin] = ops::rope_tables(1200, head_dim, theta);
                auto all = bits(cos);
                const auto more = bits(sin);
                all.insert(all.end(), more.begin(), more.end());
                return all;
            };
            std::vector<uint64_t> expected;
            {
                const ops::ForceProvider reference("rope_tables", "reference");
                expected = run();
            }
            sweep::over_sets_and_threads([&](const std::string& where) { EXPECT_EQ(run(), expected) << where; });
        }
    }
}

TEST_F(Rotary, TablesAndRotationAgreeWithTransformers) {
    const golden::Family family("rope");
    family.over("rope", [&](const std::string& name, const base::Json& entry) {
        const Tensor x = family.tensor(name + ".x"), cos = family.tensor(name + ".cos"),
                     sin = family.tensor(name + ".sin");
        const int64_t start = entry.at("attributes").at("start").integer(), length = cos.size(0);
        const auto [our_cos, our_sin] =
            ops::rope_tables(start + length, x.size(-1), entry.at("attributes").at("theta").real());
        // An inverse frequency may differ in its last bit (pow), and a far position magnifies that.
        const double tolerance = 1e-6 + 1.2e-7 * static_cast<double>(start + length);
        golden::expect_near(ops::narrow(our_cos, 0, start, length), cos, tolerance);
        golden::expect_near(ops::narrow(our_sin, 0, start, length), sin, tolerance);
        golden::expect_near(ops::rope(x, cos, sin), family.tensor(name + ".output"), 3e-7);
        golden::expect_near(ops::rope(family.tensor(name + ".incoming"), cos, sin, true), family.tensor(name + ".d_x"),
                            3e-7);
    });
}

TEST_F(Rotary, TablesBroadcastOverLeadingDims) {
    const Tensor x = wide({2, 3, 5, 8});
    const auto [cos, sin] = ops::rope_tables(5, 8);
    const Tensor whole = ops::rope(x, cos, sin);
    // One table a sequence: [batch, 1, positions, half].
    const Tensor c = ops::contiguous(ops::expand(cos, {2, 1, 5, 4})),
                 s = ops::contiguous(ops::expand(sin, {2, 1, 5, 4}));
    EXPECT_EQ(bits(ops::rope(x, c, s)), bits(whole));
    // A later window of the tables turns positions as the whole does.
    const Tensor tail = ops::narrow(x, 2, 3, 2);
    EXPECT_EQ(bits(ops::rope(tail, ops::narrow(cos, 0, 3, 2), ops::narrow(sin, 0, 3, 2))),
              bits(ops::narrow(whole, 2, 3, 2)));
    EXPECT_THROW(ops::rope(x, ops::narrow(cos, 0, 0, 4), sin), Error);
}

}  // namespace
}  // namespace tenon
