#include "tenon/scalar/print.h"

#include <gtest/gtest.h>

#include "tenon/base/error.h"
#include "tenon/scalar/formulas.h"

namespace tenon::scalar {
namespace {

TEST(Print, AnF32KernelIsOneStatementPerNode) {
    const std::string text = print_kernel("silu", silu(input(0)), 1, 0, Target::f32_vector);
    EXPECT_EQ(text,
              "TENON_INLINE Vec silu_lanes(Vec x0) {\n"
              "    const Vec t0 = sigmoid(x0);\n"
              "    const Vec t1 = mul(x0, t0);\n"
              "    return t1;\n"
              "}\n"
              "static void silu(const void* const* in, void* out, int64_t n) {\n"
              "    const float* in0 = static_cast<const float*>(in[0]);\n"
              "    float* y = static_cast<float*>(out);\n"
              "    int64_t i = 0;\n"
              "    for (; i + 16 <= n; i += 16) store(y + i, silu_lanes(load(in0 + i)));\n"
              "    const int rest = static_cast<int>(n - i);\n"
              "    if (rest > 0) store_partial(y + i, silu_lanes(load_partial(in0 + i, rest)), rest);\n"
              "}\n");
}

TEST(Print, FunctionsExpandIntoPolynomials) {
    const std::string text = print_vector_function("exp", exp(input(0)), 1);
    EXPECT_EQ(text.find("exp("), text.find("exp(Vec"));
    EXPECT_NE(text.find("fma("), std::string::npos);
    EXPECT_NE(text.find("ldexp("), std::string::npos);
}

TEST(Print, F64CallsTheLibraryAndI64Wraps) {
    EXPECT_NE(print_kernel("f", exp(input(0)), 1, 0, Target::f64).find("f64_exp(x0)"), std::string::npos);
    EXPECT_NE(print_kernel("f", input(0) + 1.0, 1, 0, Target::i64).find("integer_add(x0, INT64_C(1))"),
              std::string::npos);
}

TEST(Print, OnlyMathWithAnIntegerFormHasAnIntegerKernel) {
    EXPECT_TRUE(can_print(relu(input(0)), Target::i64));
    EXPECT_FALSE(can_print(0.5 * input(0), Target::i64));
    EXPECT_FALSE(can_print(exp(input(0)), Target::i64));
    EXPECT_FALSE(can_print(input(0) / input(1), Target::i64));
}

TEST(Print, MasksAreWrittenAsBytesAndUnreadInputsAreNotLoaded) {
    const std::string text = print_kernel("ge", input(1) >= 0.0, 2, 0, Target::f32_vector);
    EXPECT_NE(text.find("uint8_t* y"), std::string::npos);
    EXPECT_EQ(text.find("in0"), std::string::npos);
}

}  // namespace
}  // namespace tenon::scalar
