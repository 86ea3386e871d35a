// exp and log of plain loops: f32 has the kernels' bits, f64 the C library's.
#pragma once

#include "tenon/cpu/f64_math.h"
#include "tenon/scalar/host.h"

namespace tenon::cpu {

inline float reference_exp(float x) {
    return scalar::host::exp(x);
}
inline double reference_exp(double x) {
    return f64_exp(x);
}
inline float reference_log(float x) {
    return scalar::host::log(x);
}
inline double reference_log(double x) {
    return f64_log(x);
}

}  // namespace tenon::cpu
