#include "tenon/train/progress.h"

#include <algorithm>

#include "tenon/base/log.h"
#include "tenon/base/number.h"

namespace tenon::train {

namespace {

constexpr size_t recent_steps = 512;

}  // namespace

Progress::Progress(int64_t first_step, int64_t steps, int64_t log_every, double step_flops, double peak_flops)
    : first_step_(first_step), steps_(steps), log_every_(log_every), step_flops_(step_flops), peak_flops_(peak_flops) {}

void Progress::step(const StepReport& report, double seconds) {
    if (seconds_.size() < recent_steps) seconds_.push_back(seconds);
    seconds_[static_cast<size_t>(seen_++) % recent_steps] = seconds;
    tokens_ = report.tokens;
    if (base::stderr_is_terminal()) {
        base::set_progress_line(line(report));
        return;
    }
    const bool is_edge = report.step == first_step_ + 1 || report.step == steps_;
    if (is_edge || report.step % log_every_ == 0) base::log_info(line(report));
}

void Progress::finish() {
    base::set_progress_line("");
}

double Progress::median_seconds() const {
    if (seconds_.empty()) return 0;
    std::vector<double> sorted = seconds_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
}

double Progress::tokens_per_second() const {
    const double seconds = median_seconds();
    return seconds > 0 ? static_cast<double>(tokens_) / seconds : 0;
}

double Progress::share_of_peak() const {
    const double seconds = median_seconds();
    return seconds > 0 && peak_flops_ > 0 ? step_flops_ / seconds / peak_flops_ : 0;
}

std::string Progress::line(const StepReport& report) const {
    const double left = median_seconds() * static_cast<double>(steps_ - report.step);
    return "step " + std::to_string(report.step) + "/" + std::to_string(steps_) + "  loss " +
           base::fixed(report.loss, 4) + "  gradient norm " + base::fixed(report.grad_norm, 3) + "  lr " +
           base::significant(report.rate, 3) + "  " + base::human_rate(tokens_per_second(), "tokens") + "  " +
           base::percent(share_of_peak()) + " of peak  " + base::human_duration(left) + " left";
}

}  // namespace tenon::train
