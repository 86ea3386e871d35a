// Kernels of ops/optimizer.cpp.
#include <array>

#include "tenon/cpu/access.h"
#include "tenon/cpu/copy.h"
#include "tenon/cpu/index.h"
#include "tenon/cpu/optimizer.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

namespace {

using ops::Call;

AdamW settings_of(const Call& call) {
    return {call.real(0), call.real(1), call.real(2), call.real(3), call.real(4), call.real(5), call.integer(0)};
}

ops::Reason adamw_supports(const Call& call) {
    for (const Tensor& each : call.inputs) {
        if (each.dtype() != DType::f32) return ops::Reason::dtype;
        if (!each.is_contiguous()) return ops::Reason::layout;
    }
    return ops::Reason::ok;
}

void adamw_kernel(const Call& call, std::span<Tensor>) {
    adamw(settings_of(call), data<float>(call.input(0)), data<const float>(call.input(1)), data<float>(call.input(2)),
          data<float>(call.input(3)), call.input(0).numel());
}

void adamw_reference_kernel(const Call& call, std::span<Tensor>) {
    std::array<Tensor, 4> ordered;
    for (size_t i = 0; i < 4; ++i) ordered[i] = in_order(call.inputs[i]);
    adamw_reference(settings_of(call), ordered[0].dtype(), data(ordered[0]), data(ordered[1]), data(ordered[2]),
                    data(ordered[3]), ordered[0].numel());
    for (const size_t i : {0, 2, 3}) {
        if (!ordered[i].same_as(call.inputs[i])) copy_elements(ordered[i], call.inputs[i]);
    }
}

ops::Reason f32_in_order(const Call& call) {
    if (call.input(0).dtype() != DType::f32) return ops::Reason::dtype;
    return call.input(0).is_contiguous() ? ops::Reason::ok : ops::Reason::layout;
}

void sum_of_squares_kernel(const Call& call, std::span<Tensor> outputs) {
    *data<float>(outputs[0]) = sum_of_squares(data<const float>(call.input(0)), call.input(0).numel());
}

void sum_of_squares_reference_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor x = in_order(call.input(0));
    sum_of_squares_reference(data(x), x.dtype(), x.numel(), data(outputs[0]));
}

void all_finite_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor x = in_order(call.input(0));
    *data<uint8_t>(outputs[0]) = all_finite(data(x), x.dtype(), x.numel()) ? 1 : 0;
}

}  // namespace

void register_optimizer() {
    const auto add = [](std::string_view op, const char* name, ops::Kernel kernel, ops::Supports supports = nullptr) {
        ops::lookup(op).providers(Device::cpu).add(name, ops::Tier::d4, kernel, supports);
    };
    add("adamw", "lanes", adamw_kernel, adamw_supports);
    add("adamw", "reference", adamw_reference_kernel);
    add("sum_of_squares", "lanes", sum_of_squares_kernel, f32_in_order);
    add("sum_of_squares", "reference", sum_of_squares_reference_kernel);
    add("all_finite", "reference", all_finite_kernel);
}

}  // namespace tenon::cpu
