#include "tenon/cpu/f64_math.h"

#include <cmath>

namespace tenon::cpu {

double f64_exp(double x) {
    return std::exp(x);
}
double f64_log(double x) {
    return std::log(x);
}
double f64_sin(double x) {
    return std::sin(x);
}
double f64_cos(double x) {
    return std::cos(x);
}
double f64_tanh(double x) {
    return std::tanh(x);
}
double f64_erf(double x) {
    return std::erf(x);
}
double f64_sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}
double f64_pow(double x, double y) {
    return std::pow(x, y);
}
double f64_fma(double a, double b, double c) {
    return std::fma(a, b, c);
}
double f64_floor(double x) {
    return std::floor(x);
}
double f64_round(double x) {
    return std::nearbyint(x);
}

const scalar::Functions64& f64_functions() {
    static const scalar::Functions64 functions{f64_exp, f64_log, f64_sin, f64_cos, f64_tanh, f64_erf, f64_pow, f64_fma};
    return functions;
}

}  // namespace tenon::cpu
