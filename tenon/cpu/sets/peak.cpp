// Independent fused multiply-adds in registers, as many at once as the micro-kernel keeps.
#include "tenon/cpu/sets/micro_kernel.h"

namespace tenon::cpu::TENON_CPU_SET {

double fused_multiply_adds(long rounds) {
    constexpr int kChains = kRows * kVectors;
    Vec sum[kChains];  // lanes differ and all are used: the compiler would leave out half of a vector
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i) sum[i] = add(to_float(lane_indices()), broadcast(static_cast<float>(i)));
    const Vec scale = broadcast(0.999f), step = broadcast(0.5f);
    for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
        for (int i = 0; i < kChains; ++i) sum[i] = fma(sum[i], scale, step);
    }
    Vec all = sum[0];
    for (int i = 1; i < kChains; ++i) all = add(all, sum[i]);
    // volatile: the chains must be computed though nobody reads them
    volatile float kept = tree_sum(all);
    (void)kept;
    return 2.0 * kLanes * kChains * static_cast<double>(rounds);
}

}  // namespace tenon::cpu::TENON_CPU_SET
