// Plain loops that mean what reductions.cpp computes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/cpu/reductions.h"
#include "tenon/cpu/reference_sum.h"
#include "tenon/cpu/reference_values.h"

namespace tenon::cpu {

namespace {

// x as [outputs, n] in logical order.
template <class Real>
std::vector<Real> rows_of(const Tensor& x, const ReductionPlan& plan) {
    Shape shape = plan.kept;
    Dims strides = plan.kept_strides;
    for (int64_t d = 0; d < plan.reduced.size(); ++d) {
        shape.push_back(plan.reduced[d]);
        strides.push_back(plan.reduced_strides[d]);
    }
    return reference_values<Real>(Tensor(x, shape, strides, 0));
}

template <class Real>
bool is_nan(Real value) {
    return value != value;
}

// Of +0 and -0 the maximum is +0 and the minimum -0.
template <class Real>
bool is_above(Real a, Real b) {
    if constexpr (std::is_floating_point_v<Real>) {
        if (a == b) return !std::signbit(a) && std::signbit(b);
    }
    return a > b;
}

template <class Real>
Real reference_extreme(const Real* row, int64_t n, bool greatest) {
    Real extreme = row[0];
    for (int64_t i = 1; i < n && !is_nan(extreme); ++i) {
        const bool better = greatest ? is_above(row[i], extreme) : is_above(extreme, row[i]);
        if (better || is_nan(row[i])) extreme = row[i];
    }
    return extreme;
}

template <class Run>
void with_computing_type(DType dtype, Run run) {
    if (is_floating(dtype)) {
        with_real(dtype, run);
    } else {
        run(int64_t{});
    }
}

}  // namespace

void reduce_reference(Reduction kind, const Tensor& x, const ReductionPlan& plan, double divisor, Tensor& out) {
    with_computing_type(x.dtype(), [&](auto zero) {
        using Real = decltype(zero);
        const std::vector<Real> rows = rows_of<Real>(x, plan);
        std::vector<Real> results(static_cast<size_t>(plan.outputs));
        for (int64_t output = 0; output < plan.outputs; ++output) {
            const Real* row = rows.data() + output * plan.n;
            const Real result = kind == Reduction::sum ? reference_sum<Real>(plan.n, [=](int64_t i) { return row[i]; })
                                                       : reference_extreme(row, plan.n, kind == Reduction::maximum);
            results[static_cast<size_t>(output)] = divisor == 1 ? result : result / static_cast<Real>(divisor);
        }
        store_reference(out, results);
    });
}

void first_greatest_reference(const Tensor& x, const ReductionPlan& plan, Tensor& out) {
    with_computing_type(x.dtype(), [&](auto zero) {
        using Real = decltype(zero);
        const std::vector<Real> rows = rows_of<Real>(x, plan);
        for (int64_t output = 0; output < plan.outputs; ++output) {
            const Real* row = rows.data() + output * plan.n;
            int64_t best = 0;
            for (int64_t i = 1; i < plan.n && !is_nan(row[best]); ++i) {
                if (row[i] > row[best] || is_nan(row[i])) best = i;
            }
            data<int64_t>(out)[output] = best;
        }
    });
}

}  // namespace tenon::cpu
