#include "tenon/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/scalar/host.h"

namespace tenon::optim {

namespace {

constexpr double pi = 3.14159265358979323846;

}  // namespace

double Schedule::rate(int64_t step) const {
    double share = 1;
    if (kind == Kind::cosine) {
        const double progress = std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
        const double angle = pi * progress;
        const double cosine = TENON_FAULT(schedule_through_libm) ? std::cos(angle) : scalar::host::cos(angle);
        share = final_share + (1 - final_share) * 0.5 * (1 + cosine);
    } else if (kind == Kind::wsd) {
        const double length = decay_share * static_cast<double>(steps);
        const double left = static_cast<double>(steps - step);
        if (left < length) share = final_share + (1 - final_share) * std::max(0.0, left / length);
    }
    if (warmup > 0) share *= std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(warmup));
    if (TENON_FAULT(schedule_in_f32)) return static_cast<float>(peak) * static_cast<float>(share);
    return peak * share;
}

Schedule::Kind schedule_kind(std::string_view name) {
    if (name == "constant") return Schedule::Kind::constant;
    if (name == "cosine") return Schedule::Kind::cosine;
    if (name == "wsd") return Schedule::Kind::wsd;
    throw Error(Code::usage, "schedule",
                "unknown schedule \"" + std::string(name) + "\"; one of constant, cosine, wsd");
}

}  // namespace tenon::optim
