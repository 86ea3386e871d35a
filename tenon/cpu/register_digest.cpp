// Kernels of ops/digest.cpp.
#include "tenon/cpu/access.h"
#include "tenon/cpu/digest.h"
#include "tenon/cpu/index.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

namespace {

template <auto compute>
void digest_kernel(const ops::Call& call, std::span<Tensor> outputs) {
    const Tensor x = in_order(call.input(0));
    const DigestSums sums = compute(data(x), x.dtype(), x.numel(), static_cast<uint32_t>(call.integer(0)),
                                    static_cast<uint32_t>(call.integer(1)), call.integer(2));
    data<uint64_t>(outputs[0])[0] = sums.first;
    data<uint64_t>(outputs[0])[1] = sums.second;
}

}  // namespace

void register_digest() {
    ops::Providers& providers = ops::lookup("digest").providers(Device::cpu);
    providers.add("lanes", ops::Tier::d4, digest_kernel<digest>);
    providers.add("reference", ops::Tier::d4, digest_kernel<digest_reference>);
}

}  // namespace tenon::cpu
