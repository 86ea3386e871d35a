#include "tenon/ops/range_of_dtype.h"

#include <cmath>
#include <sstream>
#include <string>

#include "tenon/base/error.h"

namespace tenon::ops {

void check_holds(DType dtype, double value, std::string_view op) {
    if (!is_integral(dtype)) return;
    const double top = dtype == DType::u8 ? 255 : dtype == DType::i32 ? 0x1p31 - 1 : 0x1p63;
    const double bottom = dtype == DType::u8 ? 0 : dtype == DType::i32 ? -0x1p31 : -0x1p63;
    if (std::trunc(value) == value && value >= bottom && value <= top) return;
    std::ostringstream message;
    message << name_of(dtype) << " does not hold " << value << "; give another dtype";
    throw Error(Code::usage, op, message.str());
}

}  // namespace tenon::ops
