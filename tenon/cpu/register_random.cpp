// Kernels of ops/random.cpp.
#include "tenon/base/fault.h"
#include "tenon/cpu/access.h"
#include "tenon/cpu/copy.h"
#include "tenon/cpu/random.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

namespace {

using ops::Call;

// The attributes key, step, leaf from `slot` on.
Draw draw_of(const Call& call, int slot) {
    return {static_cast<uint64_t>(call.integer(slot)), static_cast<uint32_t>(call.integer(slot + 1)),
            static_cast<uint32_t>(call.integer(slot + 2))};
}

template <auto fill>
void rand_kernel(const Call& call, std::span<Tensor> outputs) {
    fill(draw_of(call, 0), data(outputs[0]), outputs[0].dtype(), outputs[0].numel());
}

template <auto fill>
void randn_kernel(const Call& call, std::span<Tensor> outputs) {
    fill(draw_of(call, 0), call.real(0), call.real(1), data(outputs[0]), outputs[0].dtype(), outputs[0].numel());
}

void randint_kernel(const Call& call, std::span<Tensor> outputs) {
    fill_integers(draw_of(call, 2), call.integer(0), call.integer(1) - call.integer(0), data(outputs[0]),
                  outputs[0].dtype(), outputs[0].numel());
}

template <auto drop>
void dropout_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor& out = outputs[0];
    Tensor x = call.input(0);
    if (TENON_FAULT(dropout_in_memory_order) && !x.is_contiguous()) {
        const Tensor as_it_lies({x.numel()}, x.dtype(), Device::cpu);
        drop(draw_of(call, 0), call.real(0), data(x), data(as_it_lies), x.dtype(), x.numel());
        copy_elements(Tensor(as_it_lies, x.shape(), x.strides(), 0), out);
        return;
    }
    if (!x.is_contiguous()) {
        copy_elements(x, out);
        x = out;
    }
    drop(draw_of(call, 0), call.real(0), data(x), data(out), out.dtype(), out.numel());
}

}  // namespace

void register_random() {
    const auto add = [](std::string_view op, const char* name, ops::Kernel kernel) {
        ops::lookup(op).providers(Device::cpu).add(name, ops::Tier::d4, kernel);
    };
    add("rand_keyed", "lanes", rand_kernel<fill_uniform>);
    add("rand_keyed", "reference", rand_kernel<fill_uniform_reference>);
    add("randn_keyed", "lanes", randn_kernel<fill_normal>);
    add("randn_keyed", "reference", randn_kernel<fill_normal_reference>);
    add("randint_keyed", "reference", randint_kernel);
    add("dropout_keyed", "lanes", dropout_kernel<drop_elements>);
    add("dropout_keyed", "reference", dropout_kernel<drop_elements_reference>);
}

}  // namespace tenon::cpu
