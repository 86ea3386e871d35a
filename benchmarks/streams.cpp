#include "benchmarks/streams.h"

#include <algorithm>
#include <cmath>

#include "benchmarks/measure.h"
#include "tenon/core/allocator.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::bench {

namespace {

constexpr int64_t tile = 16384;  // floats
constexpr double window = 0.02;  // seconds of one measurement

template <class Body>
void for_each_tile(int64_t count, const Body& body) {
    cpu::parallel_for((count + tile - 1) / tile, [&](int64_t i) { body(i * tile, std::min(count, (i + 1) * tile)); });
}

double rate_of(double bytes, const std::function<void()>& pass) {
    const double once = seconds_of(pass, 1);
    return bytes / seconds_of(pass, static_cast<int>(std::clamp(std::ceil(window / once), 1.0, 1e6)));
}

}  // namespace

Streams::Streams(int arrays, int64_t count) : arrays_(arrays), count_(count) {
    for (int i = 0; i < arrays_; ++i) {
        array_[i] = static_cast<float*>(allocate(Device::cpu, count_ * 4));
        float* to = array_[i];
        for_each_tile(count_, [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, 1.0f); });
    }
}

Streams::~Streams() {
    for (int i = 0; i < arrays_; ++i) release(Device::cpu, array_[i], count_ * 4);
}

// volatile keeps the factor from being known: a loop that only copies would become a call of memcpy, whose stores may
// go around the caches.
double Streams::copy() const {
    const volatile float factor = 1.0f;
    return rate_of(8.0 * static_cast<double>(count_), [&] {
        const float s = factor;
        const float* __restrict from = array_[0];
        float* __restrict to = array_[1];
        for_each_tile(count_, [=](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) to[i] = s * from[i];
        });
    });
}

double Streams::sum() const {
    return rate_of(12.0 * static_cast<double>(count_), [&] {
        const float* __restrict a = array_[0], * __restrict b = array_[1];
        float* __restrict to = array_[2];
        for_each_tile(count_, [=](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) to[i] = a[i] + b[i];
        });
    });
}

double Streams::scale() const {
    const volatile float factor = 1.0f;
    return rate_of(8.0 * static_cast<double>(count_), [&] {
        const float s = factor;
        float* x = array_[0];
        for_each_tile(count_, [=](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) x[i] *= s;
        });
    });
}

}  // namespace tenon::bench
