// How a parameter starts. Values are keyed by (seed, full name, index): any mesh starts alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/core/tensor.h"

namespace tenon::nn {

struct Initializer {
    enum class Kind { constant, normal };
    Kind kind = Kind::constant;
    double value = 0;  // the constant, or the standard deviation around 0
};
constexpr Initializer constant(double value) {
    return {Initializer::Kind::constant, value};
}
constexpr Initializer normal(double deviation) {
    return {Initializer::Kind::normal, deviation};
}

// Writes the initial values of the parameter `name` in place.
void initialize(Tensor& parameter, Initializer initializer, uint64_t seed, std::string_view name);

}  // namespace tenon::nn
