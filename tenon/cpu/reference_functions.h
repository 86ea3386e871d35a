// exp and log of plain loops: f32 has the kernels' bits; f64 is computed without the C library, so it too is the same
// everywhere.
#pragma once

#include "tenon/scalar/host.h"

namespace tenon::cpu {

inline float reference_exp(float x) {
    return scalar::host::exp(x);
}
inline double reference_exp(double x) {
    return scalar::host::exp(x);
}
inline float reference_log(float x) {
    return scalar::host::log(x);
}
inline double reference_log(double x) {
    return scalar::host::log(x);
}

}  // namespace tenon::cpu
