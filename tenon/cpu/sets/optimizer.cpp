#include "tenon/cpu/sets/optimizer.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/lane_sums.h"
#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

TENON_OPTIMIZER_FUNCTIONS

namespace {

struct Moments {
    Vec p, m, v;
};

TENON_INLINE Moments step(const AdamWScalars<float>& s, Vec p, Vec g, Vec m, Vec v) {
    g = mul(g, broadcast(s.grad_scale));
    m = TENON_FAULT(update_contracted) ? fma(sub(g, m), broadcast(s.one_minus_beta1), m)
                                       : add(m, mul(sub(g, m), broadcast(s.one_minus_beta1)));
    v = add(mul(v, broadcast(s.beta2)), mul(mul(g, g), broadcast(s.one_minus_beta2)));
    const Vec c = broadcast(s.sqrt_correction2);
    const Vec root = TENON_FAULT(adamw_root_of_quotient) ? sqrt(div(v, mul(c, c))) : div(sqrt(v), c);
    const Vec divisor = add(root, broadcast(s.eps));
    p = sub(mul(p, broadcast(s.decay)), mul(broadcast(s.step_size), div(m, divisor)));
    return {p, m, v};
}

}  // namespace

void adamw_elements(const AdamWScalars<float>& scalars, float* p, const float* g, float* m, float* v, int64_t n) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        const Moments next = step(scalars, load(p + i), load(g + i), load(m + i), load(v + i));
        store(p + i, next.p);
        store(m + i, next.m);
        store(v + i, next.v);
    }
    if (i == n) return;
    const int left = static_cast<int>(n - i);
    const Moments next = step(scalars, load_partial(p + i, left), load_partial(g + i, left), load_partial(m + i, left),
                              load_partial(v + i, left));
    store_partial(p + i, next.p, left);
    store_partial(m + i, next.m, left);
    store_partial(v + i, next.v, left);
}

float sum_of_squares(const float* x, int64_t n) {
    float sum = 0;
    sum_terms<1>(
        n,
        [&](int, int64_t i, int lanes) {
            const Vec value = lanes == kLanes ? load(x + i) : load_partial(x + i, lanes);
            return mul(value, value);
        },
        &sum);
    return sum;
}

}  // namespace tenon::cpu::TENON_CPU_SET
