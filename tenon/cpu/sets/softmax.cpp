// softmax, its kin, and cross entropy over rows; see softmax.h for the formulas. A row of up to some thousand elements
// stays in the first-level cache between its passes.
#include "tenon/cpu/sets/softmax.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/functions.h"
#include "tenon/cpu/sets/lane_sums.h"
#include "tenon/cpu/sets/row_extremes.h"

namespace tenon::cpu::TENON_CPU_SET {

namespace {

TENON_INLINE float log_of(float x) {
    return first_lane(log(broadcast(x)));
}

// sum(exp(x - shift))
template <class E>
TENON_INLINE float sum_of_exponentials(const typename E::Stored* x, int64_t n, float shift) {
    const Vec m = broadcast(shift);
    float sum;
    sum_terms<1>(
        n, [=](int, int64_t i, int lanes) { return exp(sub(load_lanes<E>(x + i, lanes), m)); }, &sum);
    return sum;
}

// `e` holds the exponentials: the output itself where that is f32.
template <class E>
void softmax_row(const typename E::Stored* x, typename E::Stored* y, int64_t n, float* e) {
    const Vec m = broadcast(extreme_of_row<E, Greatest>(x, n));
    float sum;
    sum_terms<1>(
        n,
        [=](int, int64_t i, int lanes) {
            Vec v = exp(sub(load_lanes<E>(x + i, lanes), m));
            if (TENON_FAULT(exp_by_another_formula)) {
                const Vec root = exp(mul(sub(load_lanes<E>(x + i, lanes), m), broadcast(0.5f)));
                v = mul(root, root);
            }
            store_lanes<F32>(e + i, v, lanes);
            return v;
        },
        &sum);
    const Vec inverse = broadcast(1.0f / sum);
    if (TENON_FAULT(softmax_divides)) {
        return over_vectors(n, [=](int64_t i, int lanes) {
            store_lanes<E>(y + i, div(load_lanes<F32>(e + i, lanes), broadcast(sum)), lanes);
        });
    }
    over_vectors(
        n, [=](int64_t i, int lanes) { store_lanes<E>(y + i, mul(load_lanes<F32>(e + i, lanes), inverse), lanes); });
}

template <class E>
void log_softmax_row(const typename E::Stored* x, typename E::Stored* y, int64_t n) {
    const float greatest = extreme_of_row<E, Greatest>(x, n);
    const Vec m = broadcast(greatest), log_sum = broadcast(log_of(sum_of_exponentials<E>(x, n, greatest)));
    over_vectors(n, [=](int64_t i, int lanes) {
        store_lanes<E>(y + i, sub(sub(load_lanes<E>(x + i, lanes), m), log_sum), lanes);
    });
}

template <class E>
void softmax_gradient_row(const typename E::Stored* g, const typename E::Stored* y, typename E::Stored* dx, int64_t n) {
    float sum;
    sum_terms<1>(
        n, [=](int, int64_t i, int lanes) { return mul(load_lanes<E>(g + i, lanes), load_lanes<E>(y + i, lanes)); },
        &sum);
    const Vec s = broadcast(sum);
    over_vectors(n, [=](int64_t i, int lanes) {
        const Vec v = mul(load_lanes<E>(y + i, lanes), sub(load_lanes<E>(g + i, lanes), s));
        store_lanes<E>(dx + i, v, lanes);
    });
}

template <class E>
void log_softmax_gradient_row(const typename E::Stored* g, const typename E::Stored* y, typename E::Stored* dx,
                              int64_t n) {
    float sum;
    sum_terms<1>(
        n, [=](int, int64_t i, int lanes) { return load_lanes<E>(g + i, lanes); }, &sum);
    const Vec s = broadcast(sum);
    over_vectors(n, [=](int64_t i, int lanes) {
        const Vec v = sub(load_lanes<E>(g + i, lanes), mul(exp(load_lanes<E>(y + i, lanes)), s));
        store_lanes<E>(dx + i, v, lanes);
    });
}

// Element `at` of a row, in f32.
template <class E>
TENON_INLINE float element(const typename E::Stored* row, int64_t at) {
    return first_lane(E::load_some(row + at, 1));
}

template <class E>
void cross_entropy_row(const CrossEntropyRows& p, int64_t row) {
    if (p.targets[row] == p.ignore_index) {
        p.loss[row] = 0;
        p.lse[row] = __builtin_inff();
        return;
    }
    const auto* z = static_cast<const typename E::Stored*>(p.z) + row * p.z_row;
    const float m = extreme_of_row<E, Greatest>(z, p.n);
    p.lse[row] = m + log_of(sum_of_exponentials<E>(z, p.n, m));
    p.loss[row] = p.lse[row] - element<E>(z, p.targets[row]);
}

template <class E>
void cross_entropy_gradient_row(const CrossEntropyGradientRows& p, int64_t row) {
    const auto* z = static_cast<const typename E::Stored*>(p.z) + row * p.z_row;
    auto* dz = static_cast<typename E::Stored*>(p.dz) + row * p.n;
    const int64_t target = p.targets[row];
    if (target == p.ignore_index) {
        over_vectors(p.n, [=](int64_t i, int lanes) { store_lanes<E>(dz + i, zero(), lanes); });
        return;
    }
    const Vec lse = broadcast(p.lse[row]), scale = broadcast(p.scale), g = broadcast(p.g);
    over_vectors(p.n, [=](int64_t i, int lanes) {
        const Vec p_i = exp(sub(load_lanes<E>(z + i, lanes), lse));
        store_lanes<E>(dz + i, mul(mul(p_i, scale), g), lanes);
    });
    // p - 0 is p: only the target's own element differs.
    const Vec p_target = exp(sub(broadcast(element<E>(z, target)), lse));
    E::store_some(dz + target, mul(mul(sub(p_target, broadcast(1.0f)), scale), g), 1);
}

}  // namespace

void softmax_rows(const SoftmaxRows& p) {
    with_element(p.type, [&](auto e) {
        using E = decltype(e);
        const auto* x = static_cast<const typename E::Stored*>(p.x);
        auto* y = static_cast<typename E::Stored*>(p.y);
        for (int64_t row = 0; row < p.rows; ++row, x += p.x_row, y += p.y_row) {
            if (p.log) {
                log_softmax_row<E>(x, y, p.n);
            } else {
                softmax_row<E>(x, y, p.n,
                               p.type == Element::f32 ? static_cast<float*>(static_cast<void*>(y)) : p.exponentials);
            }
        }
    });
}

void softmax_gradient_rows(const SoftmaxGradientRows& p) {
    with_element(p.type, [&](auto e) {
        using E = decltype(e);
        const auto* g = static_cast<const typename E::Stored*>(p.g);
        const auto* y = static_cast<const typename E::Stored*>(p.y);
        auto* dx = static_cast<typename E::Stored*>(p.dx);
        for (int64_t row = 0; row < p.rows; ++row, g += p.g_row, y += p.y_row, dx += p.dx_row) {
            if (p.log) {
                log_softmax_gradient_row<E>(g, y, dx, p.n);
            } else {
                softmax_gradient_row<E>(g, y, dx, p.n);
            }
        }
    });
}

void log_sum_exp_rows(const LogSumExpRows& p) {
    with_element(p.type, [&](auto e) {
        using E = decltype(e);
        const auto* x = static_cast<const typename E::Stored*>(p.x);
        for (int64_t row = 0; row < p.rows; ++row, x += p.x_row) {
            float m = extreme_of_row<E, Greatest>(x, p.n);
            if (m == __builtin_inff() || m == -__builtin_inff()) m = 0;
            p.out[row] = m + log_of(sum_of_exponentials<E>(x, p.n, m));
        }
    });
}

void cross_entropy_rows(const CrossEntropyRows& p) {
    with_element(p.type, [&](auto e) {
        for (int64_t row = 0; row < p.rows; ++row) cross_entropy_row<decltype(e)>(p, row);
    });
}

void cross_entropy_gradient_rows(const CrossEntropyGradientRows& p) {
    with_element(p.type, [&](auto e) {
        for (int64_t row = 0; row < p.rows; ++row) cross_entropy_gradient_row<decltype(e)>(p, row);
    });
}

}  // namespace tenon::cpu::TENON_CPU_SET
