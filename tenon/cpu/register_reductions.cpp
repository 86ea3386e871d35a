// Kernels of ops/reductions.cpp.
#include "tenon/cpu/reductions.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

namespace {

using ops::Call;
using ops::Reason;
using ops::Tier;

Reason takes_floats(const Call& call) {
    return has_vector_kernels(call.input(0).dtype()) ? Reason::ok : Reason::dtype;
}

template <Reduction kind>
void lanes(const Call& call, std::span<Tensor> outputs) {
    reduce(kind, call.input(0), reduction_plan(call.input(0), call.dims()), 1, outputs[0]);
}
template <Reduction kind>
void reference(const Call& call, std::span<Tensor> outputs) {
    reduce_reference(kind, call.input(0), reduction_plan(call.input(0), call.dims()), 1, outputs[0]);
}

void mean_lanes(const Call& call, std::span<Tensor> outputs) {
    const ReductionPlan plan = reduction_plan(call.input(0), call.dims());
    reduce(Reduction::sum, call.input(0), plan, static_cast<float>(plan.n), outputs[0]);
}
void mean_reference(const Call& call, std::span<Tensor> outputs) {
    const ReductionPlan plan = reduction_plan(call.input(0), call.dims());
    reduce_reference(Reduction::sum, call.input(0), plan, static_cast<double>(plan.n), outputs[0]);
}

void argmax_lanes(const Call& call, std::span<Tensor> outputs) {
    first_greatest(call.input(0), reduction_plan(call.input(0), {call.integer(0)}), outputs[0]);
}
void argmax_reference(const Call& call, std::span<Tensor> outputs) {
    first_greatest_reference(call.input(0), reduction_plan(call.input(0), {call.integer(0)}), outputs[0]);
}

void add(std::string_view op, ops::Kernel fast, ops::Kernel plain) {
    ops::Providers& providers = ops::lookup(op).providers(Device::cpu);
    providers.add("lanes", Tier::d4, fast, takes_floats);
    providers.add("reference", Tier::d4, plain);
}

}  // namespace

void register_reductions() {
    add("sum", lanes<Reduction::sum>, reference<Reduction::sum>);
    add("mean", mean_lanes, mean_reference);
    add("amax", lanes<Reduction::maximum>, reference<Reduction::maximum>);
    add("amin", lanes<Reduction::minimum>, reference<Reduction::minimum>);
    add("argmax", argmax_lanes, argmax_reference);
}

}  // namespace tenon::cpu
