// rms_norm and layer_norm over rows, and their gradients; see norms.h for the formulas.
#include "tenon/cpu/sets/norms.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/lane_sums.h"

namespace tenon::cpu::TENON_CPU_SET {

namespace {

TENON_INLINE float reciprocal_root(float sum_of_squares, int64_t n, float eps) {
    const float mean = sum_of_squares / static_cast<float>(n) + eps;
    return TENON_FAULT(norm_root_of_reciprocal) ? __builtin_sqrtf(1.0f / mean) : 1.0f / __builtin_sqrtf(mean);
}

// Asks for the line of `row[i]` that the next rows will need: 16 elements on there is another. Where there are no next
// rows this asks for nothing that could fail.
template <class E>
TENON_INLINE void fetch_ahead(const typename E::Stored* row, int64_t i) {
    __builtin_prefetch(row + i, 0, 2);
}

// kRows rows at once hide the latency of one row's sums; a row is in the first-level cache when it is scaled.
template <class E, int kRows>
TENON_INLINE void rms_norm(const NormRows& p, int64_t row) {
    const auto* x = static_cast<const typename E::Stored*>(p.x) + row * p.x_row;
    const auto* weight = static_cast<const typename E::Stored*>(p.weight);
    auto* y = static_cast<typename E::Stored*>(p.y) + row * p.n;
    const int64_t x_row = p.x_row, n = p.n;
    float squares[kRows];
    sum_terms<kRows>(
        n,
        [=](int s, int64_t i, int lanes) {
            fetch_ahead<E>(x + (s + kRows) * x_row, i);
            const Vec v = load_lanes<E>(x + s * x_row + i, lanes);
            return mul(v, v);
        },
        squares);
    Vec r[kRows];
    for (int s = 0; s < kRows; ++s) {
        p.r[row + s] = reciprocal_root(squares[s], n, p.eps);
        r[s] = broadcast(p.r[row + s]);
    }
    over_vectors(n, [&](int64_t i, int lanes) {
        const Vec w = weight != nullptr ? load_lanes<E>(weight + i, lanes) : broadcast(1.0f);
        for (int s = 0; s < kRows; ++s) {
            // A product with 1 changes nothing.
            const Vec element = load_lanes<E>(x + s * x_row + i, lanes);
            const Vec v = TENON_FAULT(norm_weight_first) ? mul(element, mul(r[s], w)) : mul(mul(element, r[s]), w);
            store_lanes<E>(y + s * n + i, v, lanes);
        }
    });
}

template <class E, int kRows>
TENON_INLINE void layer_norm(const NormRows& p, int64_t row) {
    const auto* x = static_cast<const typename E::Stored*>(p.x) + row * p.x_row;
    const auto* weight = static_cast<const typename E::Stored*>(p.weight);
    const auto* bias = static_cast<const typename E::Stored*>(p.bias);
    auto* y = static_cast<typename E::Stored*>(p.y) + row * p.n;
    const int64_t x_row = p.x_row, n = p.n;
    float sums[kRows], squares[kRows];
    const bool one_pass = TENON_FAULT(variance_in_one_pass);
    sum_terms<kRows>(
        n, [=](int s, int64_t i, int lanes) { return load_lanes<E>(x + s * x_row + i, lanes); }, sums);
    Vec mean[kRows], r[kRows];
    for (int s = 0; s < kRows; ++s) {
        p.mean[row + s] = sums[s] / static_cast<float>(n);
        mean[s] = broadcast(p.mean[row + s]);
    }
    sum_terms<kRows>(
        n,
        [&](int s, int64_t i, int lanes) {
            fetch_ahead<E>(x + (s + kRows) * x_row, i);
            const Vec c = sub(load_lanes<E>(x + s * x_row + i, lanes), one_pass ? zero() : mean[s]);
            return mul(c, c);
        },
        squares);
    for (int s = 0; s < kRows; ++s) {
        if (one_pass) squares[s] -= sums[s] * p.mean[row + s];
        p.r[row + s] = reciprocal_root(squares[s], n, p.eps);
        r[s] = broadcast(p.r[row + s]);
    }
    over_vectors(n, [&](int64_t i, int lanes) {
        const Vec w = weight != nullptr ? load_lanes<E>(weight + i, lanes) : broadcast(1.0f);
        for (int s = 0; s < kRows; ++s) {
            Vec v = mul(mul(sub(load_lanes<E>(x + s * x_row + i, lanes), mean[s]), r[s]), w);
            if (bias != nullptr) v = add(v, load_lanes<E>(bias + i, lanes));
            store_lanes<E>(y + s * n + i, v, lanes);
        }
    });
}

TENON_INLINE void accumulate(float* sums, Vec v, int lanes) {
    store_lanes<F32>(sums, add(load_lanes<F32>(sums, lanes), v), lanes);
}

// One step of rms_norm's gradient: rows `row` … `row + kRows - 1`.
template <class E, int kRows>
TENON_INLINE void rms_norm_gradient(const NormGradientRows& p, int64_t row) {
    const auto* g = static_cast<const typename E::Stored*>(p.g) + row * p.g_row;
    const auto* x = static_cast<const typename E::Stored*>(p.x) + row * p.x_row;
    const auto* weight = static_cast<const typename E::Stored*>(p.weight);
    auto* dx = static_cast<typename E::Stored*>(p.dx) + row * p.n;
    const int64_t g_row = p.g_row, x_row = p.x_row, n = p.n;
    Vec r[kRows];
    for (int s = 0; s < kRows; ++s) r[s] = broadcast(p.r[row + s]);
    const auto weighted = [=](Vec v, int64_t i, int lanes) {
        return weight != nullptr ? mul(v, load_lanes<E>(weight + i, lanes)) : v;
    };
    float sums[kRows];
    sum_terms<kRows>(
        n,
        [&](int s, int64_t i, int lanes) {
            fetch_ahead<E>(x + (s + kLanes) * x_row, i);
            fetch_ahead<E>(g + (s + kLanes) * g_row, i);
            const Vec h = mul(load_lanes<E>(x + s * x_row + i, lanes), r[s]);
            return mul(weighted(load_lanes<E>(g + s * g_row + i, lanes), i, lanes), h);
        },
        sums);
    Vec means[kRows];
    for (int s = 0; s < kRows; ++s) means[s] = broadcast(sums[s] / static_cast<float>(n));
    over_vectors(n, [&](int64_t i, int lanes) {
        for (int s = 0; s < kRows; ++s) {
            const Vec gradient = load_lanes<E>(g + s * g_row + i, lanes);
            const Vec h = mul(load_lanes<E>(x + s * x_row + i, lanes), r[s]);
            const Vec gw = weighted(gradient, i, lanes);
            fetch_ahead<E>(dx + (s + kLanes) * n, i);
            store_lanes<E>(dx + s * n + i, mul(sub(gw, mul(h, means[s])), r[s]), lanes);
            if (p.weight_sums != nullptr) accumulate(p.weight_sums + s * n + i, mul(gradient, h), lanes);
        }
    });
}

template <class E, int kRows>
TENON_INLINE void layer_norm_gradient(const NormGradientRows& p, int64_t row) {
    const auto* g = static_cast<const typename E::Stored*>(p.g) + row * p.g_row;
    const auto* x = static_cast<const typename E::Stored*>(p.x) + row * p.x_row;
    const auto* weight = static_cast<const typename E::Stored*>(p.weight);
    auto* dx = static_cast<typename E::Stored*>(p.dx) + row * p.n;
    const int64_t g_row = p.g_row, x_row = p.x_row, n = p.n;
    Vec r[kRows], mean[kRows];
    for (int s = 0; s < kRows; ++s) r[s] = broadcast(p.r[row + s]), mean[s] = broadcast(p.mean[row + s]);
    const auto weighted = [=](Vec v, int64_t i, int lanes) {
        return weight != nullptr ? mul(v, load_lanes<E>(weight + i, lanes)) : v;
    };
    const auto normalized = [&](int s, int64_t i, int lanes) {
        return mul(sub(load_lanes<E>(x + s * x_row + i, lanes), mean[s]), r[s]);
    };
    // Sums 2s and 2s + 1: of gw and of gw h.
    float sums[2 * kRows];
    sum_terms<2 * kRows>(
        n,
        [&](int sum, int64_t i, int lanes) {
            const int s = sum / 2;
            if (sum % 2 == 0) {
                fetch_ahead<E>(x + (s + kLanes) * x_row, i);
                fetch_ahead<E>(g + (s + kLanes) * g_row, i);
            }
            const Vec gw = weighted(load_lanes<E>(g + s * g_row + i, lanes), i, lanes);
            return sum % 2 == 0 ? gw : mul(gw, normalized(s, i, lanes));
        },
        sums);
    Vec means[2 * kRows];
    for (int s = 0; s < 2 * kRows; ++s) means[s] = broadcast(sums[s] / static_cast<float>(n));
    over_vectors(n, [&](int64_t i, int lanes) {
        for (int s = 0; s < kRows; ++s) {
            const Vec gradient = load_lanes<E>(g + s * g_row + i, lanes);
            const Vec h = normalized(s, i, lanes);
            fetch_ahead<E>(dx + (s + kLanes) * n, i);
            const Vec centred = sub(weighted(gradient, i, lanes), means[2 * s]);
            store_lanes<E>(dx + s * n + i, mul(sub(centred, mul(h, means[2 * s + 1])), r[s]), lanes);
            if (p.weight_sums != nullptr) accumulate(p.weight_sums + s * n + i, mul(gradient, h), lanes);
            if (p.bias_sums != nullptr) accumulate(p.bias_sums + s * n + i, gradient, lanes);
        }
    });
}

}  // namespace

void rms_norm_rows(const NormRows& p) {
    with_element(p.type, [&](auto e) {
        using E = decltype(e);
        int64_t row = 0;
        for (; row + 4 <= p.rows; row += 4) rms_norm<E, 4>(p, row);
        for (; row < p.rows; ++row) rms_norm<E, 1>(p, row);
    });
}

void layer_norm_rows(const NormRows& p) {
    with_element(p.type, [&](auto e) {
        using E = decltype(e);
        int64_t row = 0;
        for (; row + 4 <= p.rows; row += 4) layer_norm<E, 4>(p, row);
        for (; row < p.rows; ++row) layer_norm<E, 1>(p, row);
    });
}

void rms_norm_gradient_rows(const NormGradientRows& p) {
    with_element(p.type, [&](auto e) {
        using E = decltype(e);
        for (int64_t step = 0; step < p.steps; ++step) {
            if (p.lanes == 2) {
                rms_norm_gradient<E, 2>(p, step * kLanes);
            } else {
                rms_norm_gradient<E, 1>(p, step * kLanes);
            }
        }
    });
}

void layer_norm_gradient_rows(const NormGradientRows& p) {
    with_element(p.type, [&](auto e) {
        using E = decltype(e);
        for (int64_t step = 0; step < p.steps; ++step) {
            if (p.lanes == 2) {
                layer_norm_gradient<E, 2>(p, step * kLanes);
            } else {
                layer_norm_gradient<E, 1>(p, step * kLanes);
            }
        }
    });
}

// sums[0][:] = the tree 8-4-2-1 over sums [16, n].
void fold_lanes(float* sums, int64_t n) {
    over_vectors(n, [=](int64_t i, int lanes) {
        Vec v[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) v[lane] = load_lanes<F32>(sums + lane * n + i, lanes);
        for (int half = kLanes / 2; half > 0; half /= 2) {
            for (int lane = 0; lane < half; ++lane) v[lane] = add(v[lane], v[lane + half]);
        }
        store_lanes<F32>(sums + i, v[0], lanes);
    });
}

}  // namespace tenon::cpu::TENON_CPU_SET
