#include "tenon/cpu/scratch.h"

#include <sys/mman.h>

#include <cstdlib>
#include <string>

#include "tenon/base/error.h"

namespace tenon::cpu {

namespace {

constexpr size_t kHugePage = size_t{2} << 20, kLine = 64;

size_t round_up(size_t bytes, size_t step) {
    return (bytes + step - 1) / step * step;
}

class Scratch {
public:
    ~Scratch() { std::free(memory_); }

    float* at_least(size_t bytes) {
        if (bytes > capacity_) grow(bytes);
        return static_cast<float*>(memory_);
    }

private:
    void grow(size_t bytes) {
        std::free(memory_);
        memory_ = nullptr;
        capacity_ = 0;
        bytes += bytes / 4;  // so that slowly growing shapes do not reallocate each time
        const bool huge = bytes >= kHugePage;
        bytes = round_up(bytes, huge ? kHugePage : kLine);
        memory_ = std::aligned_alloc(huge ? kHugePage : kLine, bytes);
        if (memory_ == nullptr) {
            throw Error(Code::failed, "memory",
                        "no " + std::to_string(bytes >> 20) + " MiB left for a kernel's working memory");
        }
        if (huge) madvise(memory_, bytes, MADV_HUGEPAGE);
        capacity_ = bytes;
    }

    void* memory_ = nullptr;
    size_t capacity_ = 0;
};

}  // namespace

float* thread_scratch(int64_t floats) {
    thread_local Scratch scratch;
    return scratch.at_least(static_cast<size_t>(floats) * sizeof(float));
}

float* shared_scratch(int64_t floats) {
    thread_local Scratch scratch;
    return scratch.at_least(static_cast<size_t>(floats) * sizeof(float));
}

}  // namespace tenon::cpu
