// The order of sums (docs/numerics.md) as plain loops: what every vector kernel must equal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tenon::cpu {

// The sum of term(i) over i in [0, n): blocks of 4096, 16 lanes by index mod 16, the tree 8-4-2-1, blocks as a binary
// counter. Integers wrap.
template <class Real, class Term>
Real reference_sum(int64_t n, Term term) {
    using Exact = std::conditional_t<std::is_integral_v<Real>, uint64_t, Real>;
    std::vector<Exact> waiting;
    uint64_t blocks = 0;
    for (int64_t start = 0; start < n; start += 4096, ++blocks) {
        Exact lanes[16] = {};
        for (int64_t i = start; i < std::min<int64_t>(n, start + 4096); ++i) {
            lanes[i % 16] = lanes[i % 16] + static_cast<Exact>(term(i));
        }
        for (int half = 8; half > 0; half /= 2) {
            for (int lane = 0; lane < half; ++lane) lanes[lane] = lanes[lane] + lanes[lane + half];
        }
        Exact sum = lanes[0];
        for (uint64_t full = blocks; (full & 1) != 0; full >>= 1) {
            sum = waiting.back() + sum;
            waiting.pop_back();
        }
        waiting.push_back(sum);
    }
    if (waiting.empty()) return Real(0);
    Exact sum = waiting.back();
    for (size_t i = waiting.size() - 1; i > 0; --i) sum = waiting[i - 1] + sum;
    return static_cast<Real>(sum);
}

}  // namespace tenon::cpu
