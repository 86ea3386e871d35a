// The loss on the held-out part of a text.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/data/token_windows.h"
#include "tenon/models/registry.h"

namespace tenon::train {

struct Validation {
    double nats_per_token = 0;
    double bits_per_byte = 0;
    int64_t tokens = 0;  // predicted
};

// Every held-out token but the first is predicted once, one window at a time, so the figure depends on no batch.
// Nothing where a signal came meanwhile.
std::optional<Validation> validate(models::CausalLM& model, const data::HeldOut& held_out);

}  // namespace tenon::train
