// The loss of rows of logits z [rows, vocabulary], and their gradients in place.
//     m = max z   l = Sum exp(z - m)   L = m + log l   loss = L - z_t   g = (exp(z - L) - [j = t]) / divisor
// Three passes over a row, which stays in L2.
#include "tenon/cpu/sets/linear_cross_entropy_tile.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/functions.h"
#include "tenon/cpu/sets/lane_sums.h"

namespace tenon::cpu::TENON_CPU_SET {

namespace {

float greatest(const float* z, int64_t n) {
    const Vec lowest = broadcast(-__builtin_inff());
    Vec top[4] = {lowest, lowest, lowest, lowest};  // four at once hide the latency; the order changes nothing
    int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
        for (int v = 0; v < 4; ++v) top[v] = maximum(top[v], load(z + i + kLanes * v));
    }
    for (; i < n; i += kLanes) {
        const int lanes = static_cast<int>(n - i < kLanes ? n - i : kLanes);
        top[0] = maximum(top[0], select(first_lanes(lanes), load_partial(z + i, lanes), lowest));
    }
    return tree_maximum(maximum(maximum(top[0], top[1]), maximum(top[2], top[3])));
}

void row(const LogitRows& r, int64_t i) {
    float* z = r.logits + i * r.row_stride;
    const int64_t n = r.vocabulary, target = r.target[i * r.target_stride];
    if (target == r.ignore_index) {
        r.loss[i] = 0;
        for (int64_t j = 0; TENON_FAULT(loss_multiplies_ignored) && j < n; ++j) z[j] *= 0;
        if (r.with_gradients && !TENON_FAULT(loss_multiplies_ignored))
            memset(z, 0, sizeof(float) * static_cast<size_t>(n));
        return;
    }
    const float m = greatest(z, n), z_target = z[target];
    float l;
    sum_terms<1>(
        n, [&](int, int64_t at, int lanes) { return exp(sub(load_lanes<F32>(z + at, lanes), broadcast(m))); }, &l);
    const Vec lse = add(broadcast(m), log(broadcast(l)));
    r.loss[i] = first_lane(sub(lse, broadcast(z_target)));
    if (!r.with_gradients) return;
    const Vec inverse = broadcast(r.divisor_inverse);
    over_vectors(n, [&](int64_t at, int lanes) {
        const Vec p = exp(sub(load_lanes<F32>(z + at, lanes), lse));
        const Vec g = TENON_FAULT(loss_divides) ? div(p, div(broadcast(1.0f), inverse)) : mul(p, inverse);
        store_lanes<F32>(z + at, g, lanes);
    });
    z[target] = first_lane(mul(sub(exp(sub(broadcast(z_target), lse)), broadcast(1.0f)), inverse));
}

}  // namespace

void cross_entropy_rows(const LogitRows& r) {
    for (int64_t i = 0; i < r.rows; ++i) row(r, i);
}

// The Sum of the rows' losses.
float sum_of_losses(const float* losses, int64_t n) {
    float sum;
    sum_terms<1>(
        n, [&](int, int64_t at, int lanes) { return load_lanes<F32>(losses + at, lanes); }, &sum);
    return sum;
}

}  // namespace tenon::cpu::TENON_CPU_SET
