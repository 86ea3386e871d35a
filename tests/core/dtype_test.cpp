#include "tenon/core/dtype.h"

#include <gtest/gtest.h>

#include "tenon/base/error.h"

namespace tenon {
namespace {

constexpr DType f64 = DType::f64, f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16, i64 = DType::i64,
                i32 = DType::i32, u8 = DType::u8, b = DType::boolean;

TEST(DTypes, PromotionIsTorchPromoteTypes) {
    // Rows and columns in the enumeration's order, as torch.promote_types prints them.
    constexpr DType table[dtype_count][dtype_count] = {
        {f64, f64, f64, f64, f64, f64, f64, f64},  // f64
        {f64, f32, f32, f32, f32, f32, f32, f32},  // f32
        {f64, f32, f16, f32, f16, f16, f16, f16},  // f16
        {f64, f32, f32, bf16, bf16, bf16, bf16, bf16}, {f64, f32, f16, bf16, i64, i64, i64, i64},
        {f64, f32, f16, bf16, i64, i32, i32, i32},     {f64, f32, f16, bf16, i64, i32, u8, u8},
        {f64, f32, f16, bf16, i64, i32, u8, b},
    };
    for (int x = 0; x < dtype_count; ++x) {
        for (int y = 0; y < dtype_count; ++y) {
            EXPECT_EQ(promote(static_cast<DType>(x), static_cast<DType>(y)), table[x][y])
                << name_of(static_cast<DType>(x)) << " " << name_of(static_cast<DType>(y));
        }
    }
}

TEST(DTypes, NamesAndSizes) {
    const int64_t sizes[] = {8, 4, 2, 2, 8, 4, 1, 1};
    for (int i = 0; i < dtype_count; ++i) {
        EXPECT_EQ(dtype_from(name_of(static_cast<DType>(i))), static_cast<DType>(i));
        EXPECT_EQ(size_of(static_cast<DType>(i)), sizes[i]);
    }
    EXPECT_THROW(dtype_from("float32"), Error);
    EXPECT_TRUE(is_floating(bf16));
    EXPECT_FALSE(is_floating(i64));
    EXPECT_TRUE(is_integral(u8));
    EXPECT_FALSE(is_integral(b));
}

}  // namespace
}  // namespace tenon
