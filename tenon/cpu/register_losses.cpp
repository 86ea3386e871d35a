// Kernels of ops/losses.cpp.
#include "tenon/base/error.h"
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

TENON_IN_EVERY_SET(void cross_entropy_rows(const CrossEntropyRows& p);
                   void cross_entropy_gradient_rows(const CrossEntropyGradientRows& p);)

namespace {

using ops::Call;
using ops::Reason;
using ops::Tier;

Reason takes_floats(const Call& call) {
    const Tensor& logits = call.input(call.inputs.size() == 2 ? 0 : 1);
    return has_vector_kernels(logits.dtype()) ? Reason::ok : Reason::dtype;
}

// The targets, each checked against the number of classes.
std::vector<int64_t> checked_targets(const Call& call, const Tensor& targets, int64_t classes) {
    std::vector<int64_t> all = reference_values<int64_t>(targets);
    for (size_t row = 0; row < all.size(); ++row) {
        if (all[row] == call.integer(0) || (all[row] >= 0 && all[row] < classes)) continue;
        throw Error(Code::usage, call.op.name(),
                    "row " + std::to_string(row) + " has target " + std::to_string(all[row]) + "; logits have " +
                        std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1) +
                        ", and ignore_index is " + std::to_string(call.integer(0)));
    }
    return all;
}

double divisor_of(const Call& call, const std::vector<int64_t>& targets) {
    if (call.real(0) != 0) return call.real(0);
    int64_t valid = 0;
    for (const int64_t target : targets) valid += target != call.integer(0) ? 1 : 0;
    return static_cast<double>(valid);
}

void cross_entropy_lanes(const Call& call, std::span<Tensor> outputs) {
    const Tensor& logits = call.input(0);
    const Rows z(logits);
    const int64_t n = z.length();
    const std::vector<int64_t> targets = checked_targets(call, call.input(1), n);
    std::vector<float> losses(targets.size());
    const auto kernel = TENON_SELECT(cross_entropy_rows);
    over_row_groups(z.count(), n, [&](int64_t first, int64_t count) {
        char* memory = z.adjacent() ? nullptr : reinterpret_cast<char*>(thread_scratch(n));
        for (int64_t row = first; row < first + count;) {
            const int64_t run = std::min(usable_run(z, row), first + count - row);
            const RowRun from = read_run(z, row, memory);
            kernel({element_of(logits.dtype()), from.first, from.stride, run, n, targets.data() + row, call.integer(0),
                    losses.data() + row, data<float>(outputs[1]) + row});
            row += run;
        }
    });
    const float sum = reference_sum<float>(z.count(), [&](int64_t row) { return losses[static_cast<size_t>(row)]; });
    store_floats(&sum, 1, outputs[0], 0, static_cast<float>(divisor_of(call, targets)));
}

void cross_entropy_gradient_lanes(const Call& call, std::span<Tensor> outputs) {
    const Tensor& logits = call.input(1);
    const Rows z(logits);
    const int64_t n = z.length();
    const std::vector<int64_t> targets = checked_targets(call, call.input(2), n);
    const std::vector<float> lse = reference_values<float>(call.input(3));
    const float g = reference_values<float>(call.input(0))[0];
    const float scale = static_cast<float>(1 / divisor_of(call, targets));
    const auto kernel = TENON_SELECT(cross_entropy_gradient_rows);
    over_row_groups(z.count(), n, [&](int64_t first, int64_t count) {
        char* memory = z.adjacent() ? nullptr : reinterpret_cast<char*>(thread_scratch(n));
        for (int64_t row = first; row < first + count;) {
            const int64_t run = std::min(usable_run(z, row), first + count - row);
            const RowRun from = read_run(z, row, memory);
            kernel({element_of(logits.dtype()), from.first, from.stride, run, n, targets.data() + row, call.integer(0),
                    lse.data() + row, scale, g, data<char>(outputs[0]) + row * z.row_bytes()});
            row += run;
        }
    });
}

// --- plain loops --------------------------------------------------------------------------------------------------

void cross_entropy_reference(const Call& call, std::span<Tensor> outputs) {
    with_real(outputs[1].dtype(), [&](auto zero) {
        using Real = decltype(zero);
        const int64_t n = call.input(0).size(-1);
        const std::vector<int64_t> targets = checked_targets(call, call.input(1), n);
        const std::vector<Real> values = reference_values<Real>(call.input(0));
        std::vector<Real> losses, lse;
        for (const int64_t target : targets) {
            if (target == call.integer(0)) {
                losses.push_back(0);
                lse.push_back(std::numeric_limits<Real>::infinity());
                continue;
            }
            const Real* z = values.data() + static_cast<int64_t>(lse.size()) * n;
            Real m = z[0];
            for (int64_t i = 1; i < n && m == m; ++i) m = z[i] > m || z[i] != z[i] ? z[i] : m;
            lse.push_back(m +
                          reference_log(reference_sum<Real>(n, [=](int64_t i) { return reference_exp(z[i] - m); })));
            losses.push_back(lse.back() - z[target]);
        }
        const auto rows = static_cast<int64_t>(losses.size());
        const Real sum = reference_sum<Real>(rows, [&](int64_t row) { return losses[static_cast<size_t>(row)]; });
        std::vector<Real> loss{sum / static_cast<Real>(divisor_of(call, targets))};
        store_reference(outputs[0], loss);
        store_reference(outputs[1], lse);
    });
}

void cross_entropy_gradient_reference(const Call& call, std::span<Tensor> outputs) {
    with_real(outputs[0].dtype(), [&](auto zero) {
        using Real = decltype(zero);
        const int64_t n = outputs[0].size(-1);
        const std::vector<int64_t> targets = checked_targets(call, call.input(2), n);
        std::vector<Real> values = reference_values<Real>(call.input(1));
        const std::vector<Real> lse = reference_values<Real>(call.input(3));
        const Real g = reference_values<Real>(call.input(0))[0];
        const Real scale = static_cast<Real>(1 / divisor_of(call, targets));
        for (size_t row = 0; row < targets.size(); ++row) {
            Real* z = values.data() + static_cast<int64_t>(row) * n;
            for (int64_t i = 0; i < n; ++i) {
                const Real hit = i == targets[row] ? Real(1) : Real(0);
                z[i] = targets[row] == call.integer(0) ? Real(0) : ((reference_exp(z[i] - lse[row]) - hit) * scale) * g;
            }
        }
        store_reference(outputs[0], values);
    });
}

void add(std::string_view op, ops::Kernel fast, ops::Kernel plain) {
    ops::Providers& providers = ops::lookup(op).providers(Device::cpu);
    providers.add("lanes", Tier::d4, fast, takes_floats);
    providers.add("reference", Tier::d4, plain);
}

}  // namespace

void register_losses() {
    add("cross_entropy_forward", cross_entropy_lanes, cross_entropy_reference);
    add("cross_entropy_backward", cross_entropy_gradient_lanes, cross_entropy_gradient_reference);
}

}  // namespace tenon::cpu
