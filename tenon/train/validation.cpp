#include "tenon/train/validation.h"

#include <string>
#include <vector>

#include "tenon/base/log.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/train/interrupt.h"

namespace tenon::train {

std::optional<Validation> validate(models::CausalLM& model, const data::HeldOut& held_out) {
    const ops::NoGrad guard;
    model.set_training(false);
    const int64_t length = held_out.length();
    std::vector<int64_t> inputs(static_cast<size_t>(length));
    std::vector<int64_t> targets(static_cast<size_t>(length));
    double nats = 0;
    for (int64_t i = 0; i < held_out.samples(); ++i) {
        if (InterruptScope::signal() != 0) break;
        if (base::stderr_is_terminal()) {
            base::set_progress_line("validation " + std::to_string(i) + "/" + std::to_string(held_out.samples()));
        }
        held_out.read(i, inputs, targets);
        nats += ops::item(model.loss(ops::from_values(inputs, {1, length}), ops::from_values(targets, {1, length}), 1));
    }
    base::set_progress_line("");
    if (InterruptScope::signal() != 0) return std::nullopt;
    return Validation{nats / static_cast<double>(held_out.predictions()), held_out.bits_per_byte(nats),
                      held_out.predictions()};
}

}  // namespace tenon::train
