// Where a tensor lives.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

// meta: shapes and dtypes without memory.
enum class Device : uint8_t { cpu, meta };
inline constexpr int device_count = 2;

constexpr std::string_view name_of(Device device) noexcept {
    return device == Device::cpu ? "cpu" : "meta";
}

}  // namespace tenon
