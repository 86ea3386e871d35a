#include "tenon/cpu/float_environment.h"

#include <atomic>

#include "tenon/base/fault.h"
#include "tenon/base/log.h"

namespace tenon::cpu {

namespace {
std::atomic<int64_t> corrected{0};
}

void FloatEnvironment::correct() const {
    if (!TENON_FAULT(float_environment_left)) _mm_setcsr(before_ & ~kChangesResults);
    if (corrected.fetch_add(1, std::memory_order_relaxed) == 0) {
        base::log_warning(
            "another library switched this thread to flush subnormal numbers or to another rounding; "
            "every op corrects that while it runs");
    }
}

int64_t FloatEnvironment::corrections() {
    return corrected.load(std::memory_order_relaxed);
}

}  // namespace tenon::cpu
