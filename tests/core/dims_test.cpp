#include "tenon/core/dims.h"

#include <gtest/gtest.h>

#include "tenon/base/error.h"

namespace tenon {
namespace {

TEST(Dims, GrowPastTheInlineSixAndKeepTheirValues) {
    Dims dims;
    for (int64_t i = 0; i < 20; ++i) dims.push_back(i);
    EXPECT_EQ(dims.size(), 20);
    for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(dims[i], i);
    const Dims copy = dims;
    Dims moved = std::move(dims);
    EXPECT_EQ(moved, copy);
    EXPECT_TRUE(dims.empty());
    dims = moved;
    EXPECT_EQ(dims, copy);
    moved = Dims{1, 2};
    EXPECT_EQ(moved, (Dims{1, 2}));
    dims = std::move(moved);
    EXPECT_EQ(dims, (Dims{1, 2}));
}

TEST(Dims, InsertAndEraseShiftTheRest) {
    Dims dims{1, 2, 3, 4, 5, 6};
    dims.insert(2, 9);
    EXPECT_EQ(dims, (Dims{1, 2, 9, 3, 4, 5, 6}));
    dims.erase(0);
    EXPECT_EQ(dims, (Dims{2, 9, 3, 4, 5, 6}));
    dims.insert(6, 7);
    EXPECT_EQ(dims, (Dims{2, 9, 3, 4, 5, 6, 7}));
    EXPECT_EQ(to_string(dims), "[2, 9, 3, 4, 5, 6, 7]");
    EXPECT_EQ(to_string(Dims{}), "[]");
}

TEST(Dims, ResizeFillsWithZero) {
    Dims dims{1, 2, 3};
    dims.resize(1);
    dims.resize(8);
    EXPECT_EQ(dims, (Dims{1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Dims, NumelIsOneForAScalarAndRefusesToOverflow) {
    EXPECT_EQ(numel({}), 1);
    EXPECT_EQ(numel({3, 0, 5}), 0);
    EXPECT_EQ(numel({3, 4, 5}), 60);
    EXPECT_THROW(numel({int64_t{1} << 40, int64_t{1} << 40}), Error);
}

TEST(Dims, ContiguousStridesAreRowMajor) {
    EXPECT_EQ(contiguous_strides({2, 3, 4}), (Dims{12, 4, 1}));
    EXPECT_EQ(contiguous_strides({}), Dims{});
    EXPECT_EQ(contiguous_strides({2, 0, 4}), (Dims{4, 4, 1}));
}

TEST(Dims, NegativeDimsCountFromTheEnd) {
    EXPECT_EQ(normalize_dim(-1, 3, "op"), 2);
    EXPECT_EQ(normalize_dim(-1, 0, "op"), 0);
    EXPECT_EQ(normalize_dim(2, 3, "op"), 2);
    EXPECT_THROW(normalize_dim(3, 3, "op"), Error);
    EXPECT_THROW(normalize_dim(-4, 3, "op"), Error);
    EXPECT_THROW(normalize_dim(1, 0, "op"), Error);
}

TEST(Dims, BroadcastAlignsAtTheEnd) {
    EXPECT_EQ(broadcast({2, 1, 4}, {3, 1}, "op"), (Shape{2, 3, 4}));
    EXPECT_EQ(broadcast({}, {5}, "op"), (Shape{5}));
    EXPECT_EQ(broadcast({1}, {0}, "op"), (Shape{0}));
    try {
        broadcast({2, 3}, {2, 4}, "add");
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "[add] shapes [2, 3] and [2, 4] do not broadcast: sizes 3 and 4 meet at dim -1");
    }
}

}  // namespace
}  // namespace tenon
