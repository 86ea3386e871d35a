#include "tenon/nn/initializer.h"

#include <bit>
#include <string>

#include "tenon/base/fault.h"
#include "tenon/core/random.h"
#include "tenon/ops/functions.h"

namespace tenon::nn {

void initialize(Tensor& parameter, Initializer initializer, uint64_t seed, std::string_view name) {
    const ops::NoGrad guard;
    const Device device = parameter.device();
    if (initializer.kind == Initializer::Kind::constant) {
        ops::assign(parameter, ops::full(parameter.shape(), initializer.value, parameter.dtype(), device));
        return;
    }
    const auto turn = [] {
        static int count = 0;
        return std::to_string(count++);
    };
    const auto key =
        std::bit_cast<int64_t>(stream_key(seed, TENON_FAULT(start_by_ordinal) ? turn() : std::string(name)));
    ops::assign(parameter,
                ops::randn_keyed(parameter.shape(), 0, initializer.value, key, 0, 0, parameter.dtype(), device));
}

}  // namespace tenon::nn
