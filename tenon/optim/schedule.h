// Learning rate as a function of the step.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::optim {

struct Schedule {
    enum class Kind { constant, cosine, wsd };
    Kind kind = Kind::cosine;
    double peak = 1e-3;
    // Steps over which the rate rises; step s has the factor min(1, (s + 1) / warmup). 0: no rise.
    int64_t warmup = 0;
    // Where the decay ends, in steps.
    int64_t steps = 1;
    // The rate at the end, as a share of the peak.
    double final_share = 0.1;
    // wsd: the last share of the steps in which the rate falls linearly. Hu et al. 2024, arXiv:2404.06395.
    double decay_share = 0.2;

    // The rate of step s (from 0). cosine: final + (1 − final)·(1 + cos(π·s/steps))/2. Loshchilov and Hutter 2017,
    // arXiv:1608.03983.
    double rate(int64_t step) const;
};

// "constant", "cosine" or "wsd". Throws Error(usage) otherwise.
Schedule::Kind schedule_kind(std::string_view name);

}  // namespace tenon::optim
