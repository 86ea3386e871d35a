// Other libraries switch flush-to-zero on when they load; results here must not depend on that. An op's entry holds one
// of these: it looks at MXCSR and, where a bit that changes results is set, clears it for the call, counts it, and says
// so once.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tenon::cpu {

class FloatEnvironment {
public:
    FloatEnvironment() : before_(_mm_getcsr()) {
        if (before_ & kChangesResults) [[unlikely]]
            correct();
    }
    ~FloatEnvironment() {
        if (before_ & kChangesResults) [[unlikely]]
            _mm_setcsr(before_);
    }
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

    // Calls that found the environment changed, in this process.
    static int64_t corrections();

private:
    static constexpr unsigned kChangesResults =
        0x8000u | 0x6000u | 0x0040u;  // flush to zero, rounding mode, denormals are zero
    void correct() const;
    unsigned before_;
};

}  // namespace tenon::cpu
