// Values across the boundary of a device: how everything above ops reads and writes elements.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "tenon/core/tensor.h"

namespace tenon::ops {

// Copies numel elements of the tensor's dtype, in logical order.
void copy_to_host(const Tensor& from, void* to);
void copy_from_host(Tensor& to, const void* from);

// The one element of a one-element tensor, as f64 (i64 values keep their bits below 2^53). Throws for any other size.
double item(const Tensor& tensor);
int64_t item_i64(const Tensor& tensor);

template <typename T>
constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, double>) return DType::f64;
    if constexpr (std::is_same_v<T, float>) return DType::f32;
    if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
    if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
    if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
    if constexpr (std::is_same_v<T, bool>) return DType::boolean;
}

void check_host_dtype(const Tensor& tensor, DType expected);

template <typename T>
std::vector<T> to_vector(const Tensor& tensor) {
    check_host_dtype(tensor, dtype_of<T>());
    std::vector<T> values(static_cast<size_t>(tensor.numel()));
    copy_to_host(tensor, values.data());
    return values;
}

// A contiguous tensor with these values. Throws when their number is not the shape's.
Tensor from_bytes(const void* values, int64_t count, const Shape& shape, DType dtype);
template <typename T>
Tensor from_values(std::span<const T> values, const Shape& shape) {
    return from_bytes(values.data(), static_cast<int64_t>(values.size()), shape, dtype_of<T>());
}
template <typename T>
Tensor from_values(const std::vector<T>& values, const Shape& shape) {
    return from_values(std::span<const T>(values), shape);
}

// A number as it is written in source code: 0-d, and it takes the dtype of the tensor it meets.
Tensor number(double value);
Tensor number(int64_t value);

// What a device's layer provides.
struct HostCopies {
    void (*read)(const Tensor& from, void* to) = nullptr;
    void (*write)(Tensor& to, const void* from) = nullptr;
};
HostCopies& host_copies(Device device);

}  // namespace tenon::ops
