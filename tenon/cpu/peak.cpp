#include "tenon/cpu/peak.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tenon/base/process.h"
#include "tenon/cpu/instruction_set.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(double fused_multiply_adds(long rounds);)

namespace {

using base::Clock;
using base::seconds_since;

double one_thread(double seconds) {
    const auto run = TENON_SELECT(fused_multiply_adds);
    run(1000);  // wakes the wide units
    double flops = 0;
    const Clock::time_point start = Clock::now();
    double elapsed = 0;
    while (elapsed < seconds) {
        flops += run(2000);
        elapsed = seconds_since(start);
    }
    return flops / elapsed;
}

}  // namespace

double measure_peak_flops(int threads, double seconds) {
    instruction_set();  // chosen, and any error thrown, before threads exist
    std::atomic<int> ready{0};
    std::vector<double> rates(static_cast<size_t>(threads));
    const auto measure = [&](int index) {
        ready.fetch_add(1);
        while (ready.load() < threads) std::this_thread::yield();
        rates[static_cast<size_t>(index)] = one_thread(seconds);
    };
    std::vector<std::thread> others;
    for (int index = 1; index < threads; ++index) others.emplace_back(measure, index);
    measure(0);
    for (std::thread& other : others) other.join();
    double sum = 0;
    for (double rate : rates) sum += rate;
    return sum;
}

}  // namespace tenon::cpu
