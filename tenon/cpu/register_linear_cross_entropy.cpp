// Kernels of ops/linear_cross_entropy.cpp.
#include "tenon/cpu/linear_cross_entropy.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

namespace {

using ops::Call;

template <auto kernel>
void forward(const Call& call, std::span<Tensor> outputs) {
    LinearCrossEntropy c{call.input(0),   call.input(1), call.input(2), call.integer(0), call.real(0),
                         call.boolean(1), outputs[0],    outputs[1],    outputs[2]};
    kernel(c);
}

ops::Reason supports(const Call& call) {
    return call.input(0).dtype() == DType::f64 ? ops::Reason::dtype : ops::Reason::ok;
}

}  // namespace

void register_linear_cross_entropy() {
    ops::Providers& providers = ops::lookup("linear_cross_entropy_forward").providers(Device::cpu);
    providers.add("chunked", ops::Tier::d4, forward<linear_cross_entropy>, supports);
    providers.add("reference", ops::Tier::d4, forward<linear_cross_entropy_reference>);
}

}  // namespace tenon::cpu
