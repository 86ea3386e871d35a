// The attributes of one call, without names or heap: ints, bools, dtypes and devices share one array.
#pragma once

#include <array>
#include <cstdint>

#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/dtype.h"
#include "tenon/ops/schema.h"

namespace tenon::ops {

struct Attributes {
    std::array<int64_t, max_integers> integers{};
    std::array<double, max_reals> reals{};
    Dims dims;
};

}  // namespace tenon::ops
