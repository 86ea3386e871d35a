// libm as the independent truth of these tests.
#pragma once

#include <cmath>

#include "tenon/scalar/evaluate.h"

namespace tenon::scalar {

inline const Functions64& libm() {
    static const Functions64 functions{[](double x) { return std::exp(x); },
                                       [](double x) { return std::log(x); },
                                       [](double x) { return std::sin(x); },
                                       [](double x) { return std::cos(x); },
                                       [](double x) { return std::tanh(x); },
                                       [](double x) { return std::erf(x); },
                                       [](double x, double y) { return std::pow(x, y); },
                                       [](double a, double b, double c) { return std::fma(a, b, c); }};
    return functions;
}

}  // namespace tenon::scalar
