// Arithmetic as it is written: tensors with tensors and with numbers.
#pragma once

#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"

namespace tenon {

inline Tensor operator+(const Tensor& a, const Tensor& b) {
    return ops::add(a, b);
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
    return ops::sub(a, b);
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
    return ops::mul(a, b);
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
    return ops::div(a, b);
}
inline Tensor operator-(const Tensor& a) {
    return ops::neg(a);
}

inline Tensor operator+(const Tensor& a, double b) {
    return ops::add(a, ops::number(b));
}
inline Tensor operator-(const Tensor& a, double b) {
    return ops::sub(a, ops::number(b));
}
inline Tensor operator*(const Tensor& a, double b) {
    return ops::mul(a, ops::number(b));
}
inline Tensor operator/(const Tensor& a, double b) {
    return ops::div(a, ops::number(b));
}
inline Tensor operator+(double a, const Tensor& b) {
    return ops::add(ops::number(a), b);
}
inline Tensor operator-(double a, const Tensor& b) {
    return ops::sub(ops::number(a), b);
}
inline Tensor operator*(double a, const Tensor& b) {
    return ops::mul(ops::number(a), b);
}
inline Tensor operator/(double a, const Tensor& b) {
    return ops::div(ops::number(a), b);
}

}  // namespace tenon
