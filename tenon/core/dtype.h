// Element types and how two of them meet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean };
inline constexpr int dtype_count = 8;

int64_t size_of(DType dtype) noexcept;
std::string_view name_of(DType dtype) noexcept;
// Throws Error(usage) for a name that is no dtype.
DType dtype_from(std::string_view name);

constexpr bool is_floating(DType dtype) noexcept {
    return dtype <= DType::bf16;
}
constexpr bool is_integral(DType dtype) noexcept {
    return dtype >= DType::i64 && dtype <= DType::u8;
}

// PyTorch's promotion between two tensors of the same kind of operand (torch.promote_types).
DType promote(DType a, DType b) noexcept;

}  // namespace tenon
