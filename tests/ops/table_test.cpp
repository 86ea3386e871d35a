#include "tenon/ops/table.h"

#include <gtest/gtest.h>

#include <string>

#include "tenon/base/error.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/op.h"

namespace tenon::ops {
namespace {

TEST(Table, EveryEntryThatIsNoViewOrCompositeHasACpuKernel) {
    cpu::register_kernels();
    for (const Op& op : table().all()) {
        if (op.view_rule() != nullptr || op.composite_rule() != nullptr) continue;
        EXPECT_FALSE(op.providers(Device::cpu).empty()) << op.name();
    }
}

TEST(Table, AnEntryWithoutSamplesOrDocOrDerivativeIsNotWhole) {
    const auto missing = [](const Op& op) -> std::string {
        try {
            op.check_complete();
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    const auto identity = [](const Call& call, Results& results) { results.add(call.input(0).shape(), DType::f32); };
    Op op("f(x)");
    EXPECT_EQ(missing(op), "[f] its entry has no doc");
    op.doc("x");
    EXPECT_NE(missing(op).find("math, rule"), std::string::npos);
    op.rule(identity);
    EXPECT_NE(missing(op).find("derivative"), std::string::npos);
    op.no_derivative("none");
    EXPECT_NE(missing(op).find("samples"), std::string::npos);
    op.samples({Shape{2}});
    EXPECT_EQ(missing(op), "");
}

TEST(Table, AnUnknownNameSuggestsTheNearest) {
    try {
        lookup("embeding");
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("embedding"), std::string::npos) << error.what();
    }
}

TEST(Table, ANameMayBeTakenOnce) {
    Table fresh;
    fresh.op("f(x)");
    EXPECT_THROW(fresh.op("f(x, y)"), Error);
}

TEST(Table, MathMustTakeWhatTheSchemaGives) {
    Op op("f(x, y, a: real)");
    EXPECT_THROW(op.math([](Expr x, Expr y) { return x + y; }), Error);
    op.math([](Expr x, Expr y, Expr a) { return x + y * a; });
    EXPECT_EQ(op.inputs_read(), 3U);
}

TEST(Table, AttributesComeFromNamesAndDefaults) {
    const Op op("f(x, n: int = -3, p: real = 0.5, on: bool = true, dtype: dtype = bf16, shape: dims)");
    const Attributes some = op.attributes({{"shape", Dims{2, 3}}, {"p", 2}});
    EXPECT_EQ(some.integers[0], -3);
    EXPECT_EQ(some.reals[0], 2.0);
    EXPECT_EQ(some.integers[1], 1);
    EXPECT_EQ(some.integers[2], static_cast<int64_t>(DType::bf16));
    EXPECT_EQ(some.dims, (Dims{2, 3}));
    EXPECT_THROW(op.attributes({{"q", 1}}), Error);
}

}  // namespace
}  // namespace tenon::ops
