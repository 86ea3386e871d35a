// Elements in logical order as plain vectors: what the references compute on, for every dtype and layout.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "tenon/cpu/access.h"
#include "tenon/cpu/copy.h"

namespace tenon::cpu {

// Real is double, float or int64_t: what a dtype computes in.
template <class Real>
constexpr DType reference_dtype() {
    return std::is_same_v<Real, double> ? DType::f64 : std::is_same_v<Real, float> ? DType::f32 : DType::i64;
}

template <class Real>
std::vector<Real> reference_values(const Tensor& x) {
    std::vector<Real> values(static_cast<size_t>(x.numel()));
    copy_strided(x.shape(), strided(x), {values.data(), contiguous_strides(x.shape()), reference_dtype<Real>()});
    return values;
}

// Rounds once to the tensor's dtype.
template <class Real>
void store_reference(Tensor& to, std::vector<Real>& values) {
    copy_strided(to.shape(), {values.data(), contiguous_strides(to.shape()), reference_dtype<Real>()}, strided(to));
}

// run(Real{}) with the type that a floating dtype computes in.
template <class Run>
void with_real(DType dtype, Run run) {
    if (dtype == DType::f64) {
        run(double{});
    } else {
        run(float{});
    }
}

}  // namespace tenon::cpu
