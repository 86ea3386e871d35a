// Memory for storages: freed blocks are kept by size class and given out again, so a training step allocates nothing
// after its first run.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/core/device.h"

namespace tenon {

struct MemoryCounts {
    int64_t live = 0;      // bytes held by storages, rounded to size classes
    int64_t peak = 0;      // the most `live` has been since reset_peak
    int64_t reserved = 0;  // bytes taken from the system: live ones, cached ones and the rest of arenas
};

// A block's size class: at least `bytes`, at most an eighth more (and never under 64).
int64_t size_class(int64_t bytes);

// Returns a 64-byte aligned block of size_class(bytes), on huge pages where it is large; null for meta or 0 bytes.
// Throws Error(failed) when the system has no more, saying what is held and what to reduce.
void* allocate(Device device, int64_t bytes);
void release(Device device, void* block, int64_t bytes) noexcept;

MemoryCounts memory_counts(Device device);
void reset_peak(Device device);

}  // namespace tenon
