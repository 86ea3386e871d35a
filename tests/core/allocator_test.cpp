#include "tenon/core/allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/core/tensor.h"

namespace tenon {
namespace {

TEST(Allocator, ASizeClassHoldsTheRequestAndAtMostAnEighthMore) {
    for (int64_t bytes = 1; bytes < 40000; ++bytes) {
        const int64_t size = size_class(bytes);
        EXPECT_GE(size, bytes);
        EXPECT_EQ(size % 64, 0);
        EXPECT_LE(size, std::max<int64_t>(bytes + 63, bytes + bytes / 8 + 64));
        EXPECT_EQ(size_class(size), size);
    }
    for (int64_t bytes = int64_t{1} << 20; bytes < int64_t{1} << 40; bytes = bytes * 5 / 3) {
        EXPECT_GE(size_class(bytes), bytes);
        EXPECT_LE(size_class(bytes), bytes + bytes / 8 + 1);
        EXPECT_EQ(size_class(size_class(bytes)), size_class(bytes));
    }
}

TEST(Allocator, AFreedBlockIsGivenOutAgain) {
    for (const int64_t bytes : {int64_t{100}, int64_t{70000}, int64_t{5} << 20}) {
        void* first = allocate(Device::cpu, bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0U);
        std::memset(first, 1, static_cast<size_t>(bytes));
        release(Device::cpu, first, bytes);
        const int64_t reserved = memory_counts(Device::cpu).reserved;
        void* second = allocate(Device::cpu, bytes - 1);
        EXPECT_EQ(second, first);
        EXPECT_EQ(memory_counts(Device::cpu).reserved, reserved);
        release(Device::cpu, second, bytes - 1);
    }
}

TEST(Allocator, LiveBlocksDoNotOverlap) {
    std::vector<Tensor> tensors;
    for (int64_t i = 1; i < 400; ++i) {
        tensors.emplace_back(Shape{i * 37}, DType::u8, Device::cpu);
    }
    std::vector<std::pair<const char*, int64_t>> blocks;
    for (int64_t i = 1; i < 400; ++i) {
        void* block = allocate(Device::cpu, i * 37);
        std::memset(block, static_cast<int>(i), static_cast<size_t>(i * 37));
        blocks.emplace_back(static_cast<char*>(block), i * 37);
    }
    for (int64_t i = 1; i < 400; ++i) {
        const auto& [block, bytes] = blocks[static_cast<size_t>(i - 1)];
        for (int64_t j = 0; j < bytes; ++j) ASSERT_EQ(block[j], static_cast<char>(i));
    }
    for (const auto& [block, bytes] : blocks) release(Device::cpu, const_cast<char*>(block), bytes);
}

int64_t peak_of_a_chain(Device device) {
    reset_peak(device);
    const int64_t start = memory_counts(device).live;
    {
        const Tensor a({1000, 7}, DType::f32, device);
        {
            const Tensor b({300000}, DType::f64, device);
            const Tensor c({33}, DType::u8, device);
        }
        const Tensor d({5, 5, 5}, DType::bf16, device);
        const Tensor empty({0, 5}, DType::f32, device);
        EXPECT_EQ(memory_counts(device).live - start, size_class(28000) + size_class(250));
    }
    EXPECT_EQ(memory_counts(device).live, start);
    return memory_counts(device).peak - start;
}

TEST(Allocator, MetaCountsWhatTheCpuTakes) {
    const int64_t cpu = peak_of_a_chain(Device::cpu);
    EXPECT_EQ(cpu, size_class(28000) + size_class(2400000) + size_class(33));
    EXPECT_EQ(peak_of_a_chain(Device::meta), cpu);
}

TEST(Allocator, OutOfMemoryGivesLargeCachedBlocksBackAndSaysWhatToDo) {
    { const Tensor large({int64_t{9} << 20}, DType::f32, Device::cpu); }
    const int64_t before = memory_counts(Device::cpu).reserved;
    try {
        const Tensor impossible({int64_t{1} << 50}, DType::f32, Device::cpu);
        FAIL();
    } catch (const Error& error) {
        const std::string message = error.what();
        EXPECT_NE(message.find("[memory]"), std::string::npos);
        EXPECT_NE(message.find("tensors hold"), std::string::npos);
        EXPECT_NE(message.find("batch.leaves"), std::string::npos);
    }
    EXPECT_LE(memory_counts(Device::cpu).reserved, before - (int64_t{36} << 20));
    // A tensor far beyond memory costs nothing on meta.
    EXPECT_EQ(Tensor({int64_t{1} << 50}, DType::f32, Device::meta).numel(), int64_t{1} << 50);
}

TEST(Allocator, ThreadsMayAllocateAtOnce) {
    const int64_t live = memory_counts(Device::cpu).live;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int64_t i = 0; i < 2000; ++i) const Tensor x({1 + i % 97, 13}, DType::f32, Device::cpu);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(memory_counts(Device::cpu).live, live);
}

}  // namespace
}  // namespace tenon
