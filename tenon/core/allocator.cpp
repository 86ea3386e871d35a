#include "tenon/core/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {

namespace {

constexpr int64_t smallest = 64;
constexpr int64_t huge_page = int64_t{2} << 20;
// Below this, blocks are cut from arenas of one huge page; from here on a block is a mapping of its own.
constexpr int64_t large = int64_t{1} << 20;

// A mapping whose start is aligned to a huge page, or null.
void* map_huge(int64_t bytes) {
    const int64_t padded = bytes + huge_page;
    void* raw = mmap(nullptr, static_cast<size_t>(padded), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    // The integer view is only for alignment arithmetic.
    const auto start = reinterpret_cast<uintptr_t>(raw);
    const uintptr_t aligned = (start + huge_page - 1) / huge_page * huge_page;
    if (aligned > start) munmap(raw, aligned - start);
    const uintptr_t tail = aligned + static_cast<uintptr_t>(bytes);
    const uintptr_t end = start + static_cast<uintptr_t>(padded);
    if (end > tail) munmap(reinterpret_cast<void*>(tail), end - tail);
    void* block = reinterpret_cast<void*>(aligned);
    madvise(block, static_cast<size_t>(bytes), MADV_HUGEPAGE);
    return block;
}

class CachingAllocator {
public:
    void* take(int64_t bytes) {
        const std::lock_guard lock(mutex_);
        std::vector<void*>& cached = cache_[bytes];
        if (!cached.empty()) {
            void* block = cached.back();
            cached.pop_back();
            count(bytes);
            return block;
        }
        void* block = bytes < large ? cut(bytes) : map(bytes);
        if (block == nullptr) out_of_memory(bytes);
        count(bytes);
        return block;
    }

    void give_back(void* block, int64_t bytes) noexcept {
        const std::lock_guard lock(mutex_);
        counts_.live -= bytes;
        cache_[bytes].push_back(block);
    }

    MemoryCounts counts() {
        const std::lock_guard lock(mutex_);
        return counts_;
    }

    void reset_peak() {
        const std::lock_guard lock(mutex_);
        counts_.peak = counts_.live;
    }

private:
    void count(int64_t bytes) {
        counts_.live += bytes;
        counts_.peak = std::max(counts_.peak, counts_.live);
    }

    void* cut(int64_t bytes) {
        if (arena_left_ < bytes) {
            arena_ = static_cast<char*>(map(huge_page));
            arena_left_ = arena_ == nullptr ? 0 : huge_page;
        }
        if (arena_ == nullptr) return nullptr;
        void* block = arena_;
        arena_ += bytes;
        arena_left_ -= bytes;
        return block;
    }

    void* map(int64_t bytes) {
        void* block = map_huge(bytes);
        if (block == nullptr) {
            trim();
            block = map_huge(bytes);
        }
        if (block != nullptr) counts_.reserved += bytes;
        return block;
    }

    void trim() {
        for (auto& [bytes, blocks] : cache_) {
            if (bytes < large) continue;
            for (void* block : blocks) munmap(block, static_cast<size_t>(bytes));
            counts_.reserved -= bytes * static_cast<int64_t>(blocks.size());
            blocks.clear();
        }
    }

    [[noreturn]] void out_of_memory(int64_t bytes) const {
        throw Error(Code::failed, "memory",
                    "the system has no " + std::to_string(bytes >> 20) + " MiB more; tensors hold " +
                        std::to_string(counts_.live >> 20) + " MiB of " + std::to_string(counts_.reserved >> 20) +
                        " MiB reserved. Use more leaves (batch.leaves), a smaller batch or a smaller model");
    }

    std::mutex mutex_;
    std::map<int64_t, std::vector<void*>> cache_;
    char* arena_ = nullptr;
    int64_t arena_left_ = 0;
    MemoryCounts counts_;
};

// Never destroyed: storages of static lifetime may outlive any order of destruction.
CachingAllocator& cpu_allocator() {
    static auto* allocator = new CachingAllocator;
    return *allocator;
}

std::mutex meta_mutex;
MemoryCounts meta_counts;

}  // namespace

int64_t size_class(int64_t bytes) {
    if (bytes <= smallest) return smallest;
    // Eight classes to a power of two.
    const int64_t octave = int64_t{1} << (std::bit_width(static_cast<uint64_t>(bytes - 1)) - 1);
    const int64_t step = std::max(octave / 8, smallest);
    return (bytes + step - 1) / step * step;
}

void* allocate(Device device, int64_t bytes) {
    if (bytes == 0) return nullptr;
    if (device == Device::cpu) return cpu_allocator().take(size_class(bytes));
    const std::lock_guard lock(meta_mutex);
    meta_counts.live += size_class(bytes);
    meta_counts.peak = std::max(meta_counts.peak, meta_counts.live);
    return nullptr;
}

void release(Device device, void* block, int64_t bytes) noexcept {
    if (bytes == 0) return;
    if (device == Device::cpu) {
        cpu_allocator().give_back(block, size_class(bytes));
        return;
    }
    const std::lock_guard lock(meta_mutex);
    meta_counts.live -= size_class(bytes);
}

MemoryCounts memory_counts(Device device) {
    if (device == Device::cpu) return cpu_allocator().counts();
    const std::lock_guard lock(meta_mutex);
    return meta_counts;
}

void reset_peak(Device device) {
    if (device == Device::cpu) return cpu_allocator().reset_peak();
    const std::lock_guard lock(meta_mutex);
    meta_counts.peak = meta_counts.live;
}

}  // namespace tenon
