// AdamW. Loshchilov and Hutter 2019, arXiv:1711.05101.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/core/tensor.h"
#include "tenon/nn/module.h"

namespace tenon::optim {

struct AdamWOptions {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.01;  // for parameters that decay (matrices)
};

class AdamW {
public:
    struct Slot {
        std::string name;
        Tensor parameter;
        Tensor first_moment;
        Tensor second_moment;
        double weight_decay = 0;
    };

    AdamW(const std::vector<nn::NamedParameter>& parameters, const AdamWOptions& options);

    // One update of every parameter from its gradient, `grads` in the order of slots(); each gradient is multiplied by
    // grad_scale first. The step counter for bias correction is steps_taken() + 1.
    void step(const std::vector<Tensor>& grads, double rate, double grad_scale);

    std::vector<Slot>& slots() { return slots_; }
    const std::vector<Slot>& slots() const { return slots_; }
    int64_t steps_taken() const { return steps_; }
    void set_steps_taken(int64_t steps) { steps_ = steps; }

private:
    AdamWOptions options_;
    std::vector<Slot> slots_;
    int64_t steps_ = 0;
};

}  // namespace tenon::optim
