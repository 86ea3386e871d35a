#include "tenon/core/dtype.h"

#include <array>

#include "tenon/base/error.h"

namespace tenon {

namespace {

struct Facts {
    std::string_view name;
    int64_t size;
};

constexpr std::array<Facts, dtype_count> facts = {
    {{"f64", 8}, {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"i64", 8}, {"i32", 4}, {"u8", 1}, {"bool", 1}}};

}  // namespace

int64_t size_of(DType dtype) noexcept {
    return facts[static_cast<size_t>(dtype)].size;
}

std::string_view name_of(DType dtype) noexcept {
    return facts[static_cast<size_t>(dtype)].name;
}

DType dtype_from(std::string_view name) {
    for (int i = 0; i < dtype_count; ++i) {
        if (facts[static_cast<size_t>(i)].name == name) return static_cast<DType>(i);
    }
    throw Error(Code::usage, "dtype",
                "unknown dtype \"" + std::string(name) + "\"; one of f64 f32 f16 bf16 i64 i32 u8 bool");
}

DType promote(DType a, DType b) noexcept {
    if (a == b) return a;
    if (is_floating(a) && is_floating(b)) {
        // The two 16-bit formats hold different values: they meet in f32.
        if (size_of(a) == size_of(b)) return DType::f32;
        return size_of(a) > size_of(b) ? a : b;
    }
    if (is_floating(a)) return a;
    if (is_floating(b)) return b;
    // i64 > i32 > u8 > bool is the order of the enumeration.
    return a < b ? a : b;
}

}  // namespace tenon
