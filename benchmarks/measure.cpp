#include "benchmarks/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tenon/base/process.h"
#include "tenon/cpu/peak.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::bench {

namespace {

constexpr int repeats = 3;           // of a figure taken on a busy machine
constexpr double quiet_share = 0.9;  // of threads times the one-thread peak: 1.8 for two
constexpr double turn_seconds = 0.05;

struct Spread {
    double median, least, greatest;
};

Spread spread(const std::vector<double>& values) {
    return {median(values), *std::min_element(values.begin(), values.end()),
            *std::max_element(values.begin(), values.end())};
}

}  // namespace

struct Bench::Taken {
    Spread share;       // percent
    double rate;        // of the work, median
    double seconds;     // of one call, median
    double peak_ratio;  // all threads over one
    bool is_busy;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double seconds_of(const std::function<void()>& work, int calls) {
    const auto start = base::Clock::now();
    for (int i = 0; i < calls; ++i) work();
    return base::seconds_since(start) / calls;
}

Bench::Bench(int threads, int turns, std::string only) : threads_(threads), turns_(turns), only_(std::move(only)) {}

bool Bench::wants(const std::string& label) const {
    return label.find(only_) != std::string::npos;
}

// Each turn's share is over the mean of the yardstick before and after it. The one-thread and the all-thread peak are
// part of every turn: together they say whether the machine was ours.
Bench::Taken Bench::take(const Figure& figure, const Yardstick& yardstick, bool is_peak) const {
    cpu::set_threads(figure.threads);
    figure.work();
    const double once = seconds_of(figure.work, 1);
    const int calls = static_cast<int>(std::clamp(std::ceil(turn_seconds / once), 1.0, 1e6));
    const double window = std::clamp(once / 8, 0.02, 0.1);
    std::vector<double> one, all, shares, rates;
    const auto measure_yardstick = [&] {
        one.push_back(cpu::measure_peak_flops(1, window));
        all.push_back(cpu::measure_peak_flops(threads_, window));
        if (!is_peak) return yardstick();
        return figure.threads == threads_ ? all.back() : one.back();
    };
    double before = measure_yardstick();
    for (int turn = 0; turn < turns_; ++turn) {
        rates.push_back(figure.amount / seconds_of(figure.work, calls));
        const double after = measure_yardstick();
        shares.push_back(100 * rates.back() / ((before + after) / 2));
        before = after;
    }
    cpu::set_threads(threads_);
    const double ratio = median(all) / median(one);
    return {spread(shares), median(rates), figure.amount / median(rates), ratio, ratio < quiet_share * threads_};
}

void Bench::measure(const Figure& figure, const Yardstick& yardstick, bool is_peak) {
    if (!wants(figure.label)) return;
    if (!title_.empty()) std::printf("\n%s\n", title_.c_str());
    title_.clear();
    Taken best = take(figure, yardstick, is_peak);
    for (int again = 0; again < repeats && best.is_busy; ++again) {
        std::printf("busy (%d threads reach %.2f times the peak of one), again: %s\n", threads_, best.peak_ratio,
                    figure.label.c_str());
        std::fflush(stdout);
        const Taken taken = take(figure, yardstick, is_peak);
        if (taken.peak_ratio > best.peak_ratio) best = taken;
    }
    std::string verdict = "no floor";
    if (figure.must > 0) {
        const bool is_kept = best.share.median >= figure.must;
        char text[64];
        std::snprintf(text, sizeof text, "must %.0f %%  %s", figure.must, is_kept ? "ok" : "BELOW");
        verdict = text;
        ++floors_;
        if (!is_kept) {
            ++missed_;
            below_ +=
                "  " + figure.label + " T" + std::to_string(figure.threads) + (best.is_busy ? " (busy)" : "") + "\n";
        }
    }
    std::printf("%-46s T%d  %6.1f %%  (%.1f to %.1f)  %9.1f %s  %10.3f ms   %s%s\n", figure.label.c_str(),
                figure.threads, best.share.median, best.share.least, best.share.greatest, best.rate / 1e9,
                is_peak ? "GFLOP/s" : "GB/s   ", best.seconds * 1e3, verdict.c_str(), best.is_busy ? "  busy" : "");
    std::fflush(stdout);
}

void Bench::share_of_peak(const Figure& figure) {
    measure(figure, {}, true);
}

void Bench::share_of_stream(const Figure& figure, const Yardstick& stream) {
    measure(figure, stream, false);
}

void Bench::summary() const {
    std::printf("\nfloors kept: %d of %d\n", floors_ - missed_, floors_);
    if (missed_ > 0) std::printf("below:\n%s", below_.c_str());
}

}  // namespace tenon::bench
