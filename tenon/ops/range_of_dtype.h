// Which numbers a dtype holds.
#pragma once

#include <string_view>

#include "tenon/core/dtype.h"

namespace tenon::ops {

// Throws Error(usage) where an integer dtype would cut or wrap `value`. A floating dtype rounds it, bool asks whether
// it is 0: both hold any.
void check_holds(DType dtype, double value, std::string_view op);

}  // namespace tenon::ops
