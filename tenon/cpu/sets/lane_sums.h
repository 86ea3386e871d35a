// Sums in the one order of docs/numerics.md: blocks of 4096; in a block 16 lanes by index mod 16, each ascending from
// +0, then the tree 8-4-2-1; blocks combined as a binary counter does.
#pragma once

#include "tenon/cpu/sets/elements.h"
#include "tenon/cpu/sets/sum_order.h"

namespace tenon::cpu::TENON_CPU_SET {

// sums[s] = the sum over i in [0, n) of term(s, i), for kStreams sums at once (which hides the latency of one).
// term(s, i, lanes) gives 16 terms from index i; of a partial vector the first `lanes` count.
template <int kStreams, class Term>
TENON_INLINE void sum_terms(int64_t n, Term term, float* sums) {
    PartialSums<float> blocks[kStreams];
    for (int64_t start = 0; start < n || start == 0; start += kSumBlock) {
        const int64_t end = n - start < kSumBlock ? n : start + kSumBlock;
        Vec lane_sums[kStreams];
        for (int s = 0; s < kStreams; ++s) lane_sums[s] = zero();
        int64_t i = start;
        for (; i + kLanes <= end; i += kLanes) {
            for (int s = 0; s < kStreams; ++s) lane_sums[s] = add(lane_sums[s], term(s, i, kLanes));
        }
        if (i < end) {
            const int lanes = static_cast<int>(end - i);
            const Mask present = first_lanes(lanes);
            for (int s = 0; s < kStreams; ++s) {
                lane_sums[s] = add(lane_sums[s], select(present, term(s, i, lanes), zero()));
            }
        }
        for (int s = 0; s < kStreams; ++s) blocks[s].push(tree_sum(lane_sums[s]));
    }
    for (int s = 0; s < kStreams; ++s) sums[s] = blocks[s].total();
}

}  // namespace tenon::cpu::TENON_CPU_SET
