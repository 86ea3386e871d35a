// How partial sums of consecutive blocks meet: as a binary counter counts. Equal neighbours merge as they complete;
// what is left at the end merges from the last. So the tree depends on the number of blocks alone, and a part that is
// an aligned power of two of blocks (or the last one, shorter) may be summed elsewhere and pushed as one.
#pragma once

#include <stdint.h>

namespace tenon::cpu {

constexpr int64_t kSumBlock = 4096;

// In an unnamed namespace: this header reaches sources of every instruction set, and each must keep its own code.
namespace {

template <class Real>
struct PartialSums {
    Real waiting[48];
    int depth = 0;
    uint64_t count = 0;

    inline __attribute__((always_inline)) void push(Real sum) {
        for (uint64_t c = count++; (c & 1) != 0; c >>= 1) sum = waiting[--depth] + sum;
        waiting[depth++] = sum;
    }
    // 0 when nothing was pushed.
    inline __attribute__((always_inline)) Real total() const {
        if (depth == 0) return Real(0);
        Real sum = waiting[depth - 1];
        for (int i = depth - 2; i >= 0; --i) sum = waiting[i] + sum;
        return sum;
    }
};

}  // namespace

}  // namespace tenon::cpu
