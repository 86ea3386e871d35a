#include "tenon/optim/adamw.h"

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/ops/functions.h"

namespace tenon::optim {

AdamW::AdamW(const std::vector<nn::NamedParameter>& parameters, const AdamWOptions& options) : options_(options) {
    for (const nn::NamedParameter& each : parameters) {
        const Tensor& p = each.tensor;
        slots_.push_back({each.name, p, ops::zeros(p.shape(), DType::f32, p.device()),
                          ops::zeros(p.shape(), DType::f32, p.device()),
                          each.decays || TENON_FAULT(decay_everywhere) ? options.weight_decay : 0});
    }
}

void AdamW::step(const std::vector<Tensor>& grads, double rate, double grad_scale) {
    if (grads.size() != slots_.size()) {
        throw Error(Code::failed, "adamw",
                    std::to_string(grads.size()) + " gradients for " + std::to_string(slots_.size()) + " parameters");
    }
    const ops::NoGrad guard;
    ++steps_;
    for (size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        ops::adamw(slot.parameter, grads[i], slot.first_moment, slot.second_moment, rate, options_.beta1,
                   options_.beta2, options_.eps, slot.weight_decay, steps_, grad_scale);
    }
}

}  // namespace tenon::optim
