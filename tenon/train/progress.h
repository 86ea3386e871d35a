// Where training is: a live line on a terminal, a plain line every few steps elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tenon/train/trainer.h"

namespace tenon::train {

class Progress {
public:
    // peak_flops: what this machine can do in f32, measured in this process; step_flops: of one step.
    Progress(int64_t first_step, int64_t steps, int64_t log_every, double step_flops, double peak_flops);
    // `seconds` of the whole step, the wait for data included.
    void step(const StepReport& report, double seconds);
    void finish();
    // Another measurement of the peak: the greatest counts.
    void saw_peak(double flops) { peak_flops_ = std::max(peak_flops_, flops); }

    // Of the median of the last 512 steps.
    double tokens_per_second() const;
    double share_of_peak() const;
    double median_seconds() const;

private:
    std::string line(const StepReport& report) const;

    int64_t first_step_, steps_, log_every_;
    double step_flops_, peak_flops_;
    int64_t tokens_ = 0, seen_ = 0;
    std::vector<double> seconds_;  // a ring
};

}  // namespace tenon::train
