// The order of sums in docs/numerics.md, from its text: shares nothing with the kernels or their references.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace tenon::tests {

// Blocks of 4096, 16 lanes by index mod 16, the tree 8-4-2-1. Blocks merge as a binary counter counts: the greatest
// power of two of them that leaves a rest, and the rest.
inline float documented_sum(const std::vector<float>& x, size_t begin, size_t end) {
    const size_t blocks = (end - begin + 4095) / 4096;
    if (blocks > 1) {
        size_t half = 1;
        while (half * 2 < blocks) half *= 2;
        return documented_sum(x, begin, begin + half * 4096) + documented_sum(x, begin + half * 4096, end);
    }
    std::array<float, 16> lanes{};
    for (size_t i = begin; i < end; ++i) lanes[(i - begin) % 16] += x[i];
    for (const size_t half : {8U, 4U, 2U, 1U}) {
        for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}
inline float documented_sum(const std::vector<float>& x) {
    return documented_sum(x, 0, x.size());
}

}  // namespace tenon::tests
