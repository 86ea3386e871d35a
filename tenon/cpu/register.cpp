#include "tenon/cpu/register.h"

#include <mutex>

#include "tenon/cpu/float_environment.h"
#include "tenon/cpu/host_copies.h"
#include "tenon/ops/dispatch.h"

namespace tenon::cpu {

// One line per family: declared here, called below. Each lives in register_<family>.cpp.
void register_attention();
void register_creation();
void register_digest();
void register_elementwise();
void register_indexing();
void register_linear_cross_entropy();
void register_optimizer();
void register_matmul();
void register_random();
void register_losses();
void register_norms();
void register_reductions();
void register_rotary();
void register_softmax();

namespace {

void run_checked(ops::Kernel kernel, const ops::Call& call, std::span<Tensor> outputs) {
    const FloatEnvironment environment;
    kernel(call, outputs);
}

}  // namespace

void register_kernels() {
    static std::once_flag once;
    std::call_once(once, [] {
        ops::slots().run_cpu = run_checked;
        register_host_copies();
        register_attention();
        register_creation();
        register_digest();
        register_elementwise();
        register_indexing();
        register_linear_cross_entropy();
        register_optimizer();
        register_matmul();
        register_random();
        register_losses();
        register_norms();
        register_reductions();
        register_rotary();
        register_softmax();
    });
}

}  // namespace tenon::cpu
