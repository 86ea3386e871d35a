#include "tenon/core/tensor.h"

#include <gtest/gtest.h>

#include <utility>

#include "tenon/base/error.h"
#include "tenon/core/allocator.h"

namespace tenon {
namespace {

TEST(Tensors, ACopySharesAndAViewKeepsTheStorageAlive) {
    Tensor view;
    const Storage* storage = nullptr;
    {
        const Tensor base({4, 6}, DType::f32, Device::cpu);
        const Tensor copy = base;
        EXPECT_TRUE(copy.same_as(base));
        storage = &base.storage();
        view = Tensor(base, {2, 3}, {6, 2}, 7);
    }
    EXPECT_EQ(&view.storage(), storage);
    EXPECT_EQ(view.byte_offset(), 28);
    EXPECT_EQ(view.numel(), 6);
    EXPECT_EQ(view.size(-1), 3);
    const Tensor nested(view, {2}, {6}, 1);
    EXPECT_EQ(nested.byte_offset(), 32);
}

TEST(Tensors, ContiguityIgnoresDimsOfSizeOneAndEmptyOnes) {
    const Tensor base({4, 6}, DType::f32, Device::cpu);
    EXPECT_TRUE(base.is_contiguous());
    EXPECT_FALSE(Tensor(base, {6, 4}, {1, 6}, 0).is_contiguous());
    EXPECT_TRUE(Tensor(base, {1, 6}, {99, 1}, 0).is_contiguous());
    EXPECT_TRUE(Tensor(base, {0, 6}, {1, 9}, 0).is_contiguous());
    EXPECT_FALSE(Tensor(base, {4, 3}, {6, 1}, 0).is_contiguous());
    EXPECT_FALSE(Tensor(base, {4, 3}, {0, 1}, 0).is_contiguous());
}

TEST(Tensors, AWriteIsCountedOnceForAllViews) {
    const Tensor base({4}, DType::f32, Device::cpu);
    const Tensor view(base, {2}, {1}, 2);
    const uint64_t before = base.storage().version();
    view.storage().wrote("fill");
    EXPECT_EQ(base.storage().version(), before + 1);
    EXPECT_STREQ(base.storage().last_writer(), "fill");
}

TEST(Tensors, DetachSharesValuesAndDropsTheGradient) {
    Tensor x({2}, DType::f32, Device::cpu);
    x.set_requires_grad(true);
    const Tensor detached = x.detach();
    EXPECT_FALSE(detached.requires_grad());
    EXPECT_TRUE(x.requires_grad());
    EXPECT_EQ(&detached.storage(), &x.storage());
}

TEST(Tensors, OnlyFloatingTensorsRequireGradients) {
    Tensor x({2}, DType::i64, Device::cpu);
    EXPECT_THROW(x.set_requires_grad(true), Error);
}

TEST(Tensors, AnUndefinedTensorSaysSo) {
    const Tensor nothing;
    EXPECT_FALSE(nothing.defined());
    EXPECT_EQ(describe(nothing), "undefined");
    EXPECT_THROW((void)nothing.shape(), Error);
}

TEST(Tensors, NegativeSizesAreRefusedAndHugeOnesDoNotOverflow) {
    EXPECT_THROW(Tensor({2, -1}, DType::f32, Device::cpu), Error);
    EXPECT_THROW(Tensor({int64_t{1} << 62}, DType::f64, Device::meta), Error);
}

TEST(Tensors, DescribeNamesDtypeAndShape) {
    EXPECT_EQ(describe(Tensor({2, 3}, DType::bf16, Device::meta)), "bf16[2, 3]");
    EXPECT_EQ(describe(Tensor({}, DType::boolean, Device::cpu)), "bool[]");
}

TEST(Tensors, MemoryIsReleasedWithTheLastView) {
    const int64_t before = memory_counts(Device::cpu).live;
    {
        Tensor view;
        {
            const Tensor base({4}, DType::f32, Device::cpu);
            view = Tensor(base, {2}, {1}, 1);
        }
        EXPECT_EQ(memory_counts(Device::cpu).live - before, size_class(16));
    }
    EXPECT_EQ(memory_counts(Device::cpu).live, before);
}

}  // namespace
}  // namespace tenon
