// Kernels of ops/softmax.cpp.
#include "tenon/cpu/access.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/reductions.h"
#include "tenon/cpu/reference_functions.h"
#include "tenon/cpu/reference_sum.h"
#include "tenon/cpu/reference_values.h"
#include "tenon/cpu/rows.h"
#include "tenon/cpu/scratch.h"
#include "tenon/cpu/sets/softmax.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(void softmax_rows(const SoftmaxRows& p); void softmax_gradient_rows(const SoftmaxGradientRows& p);
                   void log_sum_exp_rows(const LogSumExpRows& p);)

namespace {

using ops::Call;
using ops::Reason;
using ops::Tier;

Reason takes_floats(const Call& call) {
    return has_vector_kernels(call.input(0).dtype()) ? Reason::ok : Reason::dtype;
}

// Memory for `rows` rows of this thread, each of `length` floats.
char* row_memory(int64_t rows, int64_t length) {
    return reinterpret_cast<char*>(thread_scratch(rows * length));
}

template <bool is_log>
void softmax_lanes(const Call& call, std::span<Tensor> outputs) {
    const Rows x(call.input(0), call.integer(0)), y(outputs[0], call.integer(0));
    const int64_t n = x.length();
    const Element type = element_of(call.input(0).dtype());
    const auto kernel = TENON_SELECT(softmax_rows);
    over_row_groups(x.count(), n, [&](int64_t first, int64_t count) {
        char* memory = row_memory(3, n);
        auto* exponentials = reinterpret_cast<float*>(memory + 2 * n * 4);
        for (int64_t row = first; row < first + count;) {
            const int64_t run = std::min({usable_run(x, row), usable_run(y, row), first + count - row});
            const RowRun from = read_run(x, row, memory);
            char* to = y.adjacent() ? static_cast<char*>(y.row(row)) : memory + n * 4;
            kernel({type, from.first, to, from.stride, y.row_stride(), run, n, is_log, exponentials});
            if (!y.adjacent()) y.scatter(to, row);
            row += run;
        }
    });
}

template <bool is_log>
void softmax_gradient_lanes(const Call& call, std::span<Tensor> outputs) {
    const int64_t dim = call.integer(0);
    const Rows g(call.input(0), dim), y(call.input(1), dim), dx(outputs[0], dim);
    const int64_t n = g.length();
    const Element type = element_of(outputs[0].dtype());
    const auto kernel = TENON_SELECT(softmax_gradient_rows);
    over_row_groups(g.count(), n, [&](int64_t first, int64_t count) {
        char* memory = row_memory(3, n);
        for (int64_t row = first; row < first + count;) {
            const int64_t run =
                std::min({usable_run(g, row), usable_run(y, row), usable_run(dx, row), first + count - row});
            const RowRun gradient = read_run(g, row, memory), result = read_run(y, row, memory + n * 4);
            void* to = dx.adjacent() ? dx.row(row) : memory + 2 * n * 4;
            kernel({type, gradient.first, result.first, to, gradient.stride, result.stride, dx.row_stride(), run, n,
                    is_log});
            if (!dx.adjacent()) dx.scatter(to, row);
            row += run;
        }
    });
}

void log_sum_exp_lanes(const Call& call, std::span<Tensor> outputs) {
    const Tensor& x = call.input(0);
    const Rows rows(x, call.integer(0));
    const int64_t n = rows.length();
    Tensor& out = outputs[0];
    const auto kernel = TENON_SELECT(log_sum_exp_rows);
    over_row_groups(rows.count(), n, [&](int64_t first, int64_t count) {
        char* memory = row_memory(1, n);
        for (int64_t row = first; row < first + count;) {
            int64_t run = std::min(usable_run(rows, row), first + count - row);
            const RowRun from = read_run(rows, row, memory);
            float results[256];
            run = std::min<int64_t>(run, 256);
            kernel({element_of(x.dtype()), from.first, from.stride, run, n, results});
            store_floats(results, run, out, row);
            row += run;
        }
    });
}

// --- plain loops --------------------------------------------------------------------------------------------------

// The row that starts at `base` with a distance of `step` between elements, for each row along a dim, empty ones too.
template <class Body>
void over_rows_along(const Shape& shape, int64_t dim, Body body) {
    const int64_t d = normalize_dim(dim, shape.size(), "softmax");
    int64_t n = 1, outer = 1, step = 1;
    for (int64_t i = 0; i < shape.size(); ++i) (i < d ? outer : i > d ? step : n) *= shape[i];
    for (int64_t row = 0; row < outer * step; ++row) body(row / step * n * step + row % step, step, n);
}

template <class Real>
Real maximum_of(const Real* x, int64_t step, int64_t n) {
    if (n == 0) return -std::numeric_limits<Real>::infinity();
    Real m = x[0];
    for (int64_t i = 1; i < n && m == m; ++i) m = x[i * step] > m || x[i * step] != x[i * step] ? x[i * step] : m;
    return m;
}

template <bool is_log>
void softmax_reference(const Call& call, std::span<Tensor> outputs) {
    with_real(outputs[0].dtype(), [&](auto zero) {
        using Real = decltype(zero);
        std::vector<Real> values = reference_values<Real>(call.input(0));
        over_rows_along(call.input(0).shape(), call.integer(0), [&](int64_t base, int64_t step, int64_t n) {
            Real* x = values.data() + base;
            const Real m = maximum_of(x, step, n);
            const Real sum = reference_sum<Real>(n, [=](int64_t i) { return reference_exp(x[i * step] - m); });
            const Real inverse = 1 / sum, log_sum = reference_log(sum);
            for (int64_t i = 0; i < n; ++i) {
                Real& v = x[i * step];
                v = is_log ? (v - m) - log_sum : reference_exp(v - m) * inverse;
            }
        });
        store_reference(outputs[0], values);
    });
}

template <bool is_log>
void softmax_gradient_reference(const Call& call, std::span<Tensor> outputs) {
    with_real(outputs[0].dtype(), [&](auto zero) {
        using Real = decltype(zero);
        std::vector<Real> gradients = reference_values<Real>(call.input(0));
        const std::vector<Real> results = reference_values<Real>(call.input(1));
        over_rows_along(call.input(0).shape(), call.integer(0), [&](int64_t base, int64_t step, int64_t n) {
            Real* g = gradients.data() + base;
            const Real* y = results.data() + base;
            const Real sum =
                reference_sum<Real>(n, [=](int64_t i) { return is_log ? g[i * step] : g[i * step] * y[i * step]; });
            for (int64_t i = 0; i < n; ++i) {
                Real& v = g[i * step];
                v = is_log ? v - reference_exp(y[i * step]) * sum : y[i * step] * (v - sum);
            }
        });
        store_reference(outputs[0], gradients);
    });
}

void log_sum_exp_reference(const Call& call, std::span<Tensor> outputs) {
    with_real(outputs[0].dtype(), [&](auto zero) {
        using Real = decltype(zero);
        const std::vector<Real> values = reference_values<Real>(call.input(0));
        std::vector<Real> sums;
        over_rows_along(call.input(0).shape(), call.integer(0), [&](int64_t base, int64_t step, int64_t n) {
            const Real* x = values.data() + base;
            Real m = maximum_of(x, step, n);
            if (m - m != 0 && m == m) m = 0;  // an infinity
            sums.push_back(
                m + reference_log(reference_sum<Real>(n, [=](int64_t i) { return reference_exp(x[i * step] - m); })));
        });
        store_reference(outputs[0], sums);
    });
}

void add(std::string_view op, ops::Kernel fast, ops::Kernel plain) {
    ops::Providers& providers = ops::lookup(op).providers(Device::cpu);
    providers.add("lanes", Tier::d4, fast, takes_floats);
    providers.add("reference", Tier::d4, plain);
}

}  // namespace

void register_softmax() {
    add("softmax", softmax_lanes<false>, softmax_reference<false>);
    add("log_softmax", softmax_lanes<true>, softmax_reference<true>);
    add("softmax_backward", softmax_gradient_lanes<false>, softmax_gradient_reference<false>);
    add("log_softmax_backward", softmax_gradient_lanes<true>, softmax_gradient_reference<true>);
    add("logsumexp_along", log_sum_exp_lanes, log_sum_exp_reference);
}

}  // namespace tenon::cpu
