#include "tenon/optim/clip.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/fault.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"

namespace tenon::optim {

double global_norm(std::vector<std::pair<std::string, Tensor>> named_grads) {
    if (!TENON_FAULT(norm_by_registration)) {
        std::sort(named_grads.begin(), named_grads.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    double sum = 0;
    for (const auto& [name, grad] : named_grads) {
        const Tensor squares = ops::sum_of_squares(grad);
        if (squares.device() != Device::meta) sum += ops::item(squares);
        if (TENON_FAULT(norm_chain_in_f32)) sum = static_cast<float>(sum);
    }
    return std::sqrt(sum);
}

double clip_factor(double norm, double most) {
    return most > 0 ? std::min(1.0, most / (norm + (TENON_FAULT(clip_without_epsilon) ? 0 : 1e-6))) : 1.0;
}

}  // namespace tenon::optim
