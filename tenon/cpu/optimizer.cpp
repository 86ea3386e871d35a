#include "tenon/cpu/optimizer.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "tenon/base/fault.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/numbers.h"
#include "tenon/cpu/sets/optimizer.h"
#include "tenon/cpu/sets/sum_order.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/scalar/host.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(TENON_OPTIMIZER_FUNCTIONS)

namespace {

constexpr int64_t tile = int64_t{16} << 10;
// An aligned power of two of blocks: its sum may be pushed as one (sum_order.h).
constexpr int64_t sum_tile = 8 * kSumBlock;

template <typename Real>
AdamWScalars<Real> scalars_of(const AdamW& s) {
    const double correction1 = 1.0 - scalar::host::power(s.beta1, s.step);
    const double correction2 = 1.0 - scalar::host::power(s.beta2, s.step);
    return {static_cast<Real>(s.grad_scale),
            static_cast<Real>(1.0 - s.lr * s.weight_decay),
            static_cast<Real>(1.0 - s.beta1),
            static_cast<Real>(s.beta2),
            TENON_FAULT(adamw_scalars_in_f32) ? Real(1) - static_cast<Real>(s.beta2) : static_cast<Real>(1.0 - s.beta2),
            static_cast<Real>(s.lr / correction1),
            static_cast<Real>(__builtin_sqrt(correction2)),
            static_cast<Real>(s.eps)};
}

float square_root(float x) {
    return __builtin_sqrtf(x);
}
double square_root(double x) {
    return __builtin_sqrt(x);
}

// Sums, spelled out for `Real`.
template <typename Number>
typename Number::Working sum_of_squares_plainly(const typename Number::Stored* x, int64_t count) {
    using Real = typename Number::Working;
    PartialSums<Real> blocks;
    for (int64_t start = 0; start < count; start += kSumBlock) {
        Real lanes[16] = {};
        for (int64_t i = start; i < std::min(count, start + kSumBlock); ++i) {
            const Real value = Number::load(x[i]);
            lanes[i % 16] += value * value;
        }
        for (int half = 8; half > 0; half /= 2) {
            for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
        }
        blocks.push(lanes[0]);
    }
    return blocks.total();
}

// An exponent of all ones is an infinity or a NaN.
template <typename Bits>
bool none_has_exponent(const Bits* x, int64_t count, Bits exponent) {
    Bits found = 0;
    for (int64_t i = 0; i < count; ++i) found |= static_cast<Bits>((x[i] & exponent) == exponent ? 1 : 0);
    return found == 0;
}

bool part_is_finite(const char* x, DType dtype, int64_t first, int64_t count) {
    const char* from = x + first * size_of(dtype);
    switch (dtype) {
        case DType::f64:
            return none_has_exponent(reinterpret_cast<const uint64_t*>(from), count, uint64_t{0x7ff0000000000000});
        case DType::f32:
            return none_has_exponent(reinterpret_cast<const uint32_t*>(from), count, uint32_t{0x7f800000});
        case DType::f16:
            return none_has_exponent(reinterpret_cast<const uint16_t*>(from), count, uint16_t{0x7c00});
        default:
            return none_has_exponent(reinterpret_cast<const uint16_t*>(from), count, uint16_t{0x7f80});
    }
}

}  // namespace

void adamw(const AdamW& settings, float* p, const float* g, float* m, float* v, int64_t count) {
    const AdamWScalars<float> scalars = scalars_of<float>(settings);
    parallel_for((count + tile - 1) / tile, [&](int64_t t) {
        const int64_t at = t * tile;
        TENON_SELECT(adamw_elements)(scalars, p + at, g + at, m + at, v + at, std::min(tile, count - at));
    });
}

void adamw_reference(const AdamW& settings, DType dtype, void* p, const void* g, void* m, void* v, int64_t count) {
    with_floating(dtype, "adamw", [&](auto number) {
        using Number = decltype(number);
        using Stored = typename Number::Stored;
        using Real = typename Number::Working;
        const AdamWScalars<Real> s = scalars_of<Real>(settings);
        for (int64_t i = 0; i < count; ++i) {
            const Real grad = Number::load(static_cast<const Stored*>(g)[i]) * s.grad_scale;
            Real first = Number::load(static_cast<Stored*>(m)[i]);
            Real second = Number::load(static_cast<Stored*>(v)[i]);
            first = first + (grad - first) * s.one_minus_beta1;
            second = second * s.beta2 + (grad * grad) * s.one_minus_beta2;
            const Real move = s.step_size * (first / (square_root(second) / s.sqrt_correction2 + s.eps));
            static_cast<Stored*>(p)[i] = Number::store(Number::load(static_cast<Stored*>(p)[i]) * s.decay - move);
            static_cast<Stored*>(m)[i] = Number::store(first);
            static_cast<Stored*>(v)[i] = Number::store(second);
        }
    });
}

float sum_of_squares(const float* x, int64_t count) {
    const int64_t tiles = (count + sum_tile - 1) / sum_tile;
    if (tiles <= 1) return TENON_SELECT(sum_of_squares)(x, count);
    std::vector<float> sums(static_cast<size_t>(tiles));
    parallel_for(tiles, [&](int64_t t) {
        sums[static_cast<size_t>(t)] =
            TENON_SELECT(sum_of_squares)(x + t * sum_tile, std::min(sum_tile, count - t * sum_tile));
    });
    PartialSums<float> total;
    for (const float sum : sums) total.push(sum);
    return total.total();
}

void sum_of_squares_reference(const void* x, DType dtype, int64_t count, void* to) {
    with_floating(dtype, "sum_of_squares", [&](auto number) {
        using Number = decltype(number);
        *static_cast<typename Number::Working*>(to) =
            sum_of_squares_plainly<Number>(static_cast<const typename Number::Stored*>(x), count);
    });
}

bool all_finite(const void* x, DType dtype, int64_t count) {
    const auto* from = static_cast<const char*>(x);
    // Relaxed: tiles only ever set it, and parallel_for's end orders the read.
    std::atomic<bool> finite{true};
    parallel_for((count + tile - 1) / tile, [&](int64_t t) {
        if (!part_is_finite(from, dtype, t * tile, std::min(tile, count - t * tile))) {
            finite.store(false, std::memory_order_relaxed);
        }
    });
    return finite.load(std::memory_order_relaxed);
}

}  // namespace tenon::cpu
