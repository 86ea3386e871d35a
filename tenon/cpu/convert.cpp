#include "tenon/cpu/convert.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tenon/base/fault.h"
#include "tenon/cpu/half.h"

namespace tenon::cpu {

namespace {

// Values pass through one of these: every floating dtype fits into f64, every other one into i64.
constexpr int64_t chunk = 256;

template <typename Wide, typename T, typename Load>
void load_as(const void* from, int64_t start, int64_t stride, Wide* wide, int64_t count, Load load) {
    const T* values = static_cast<const T*>(from) + start * stride;
    for (int64_t i = 0; i < count; ++i) wide[i] = load(values[i * stride]);
}

void load_floating(const void* from, DType dtype, int64_t start, int64_t stride, double* wide, int64_t count) {
    const auto plain = [](auto x) { return static_cast<double>(x); };
    switch (dtype) {
        case DType::f32:
            return load_as<double, float>(from, start, stride, wide, count, plain);
        case DType::f16:
            return load_as<double, uint16_t>(from, start, stride, wide, count, f16_to_float);
        case DType::bf16:
            return load_as<double, uint16_t>(from, start, stride, wide, count, bf16_to_float);
        default:
            return load_as<double, double>(from, start, stride, wide, count, plain);
    }
}

void load_integer(const void* from, DType dtype, int64_t start, int64_t stride, int64_t* wide, int64_t count) {
    const auto plain = [](auto x) { return static_cast<int64_t>(x); };
    switch (dtype) {
        case DType::i64:
            return load_as<int64_t, int64_t>(from, start, stride, wide, count, plain);
        case DType::i32:
            return load_as<int64_t, int32_t>(from, start, stride, wide, count, plain);
        default:
            return load_as<int64_t, uint8_t>(from, start, stride, wide, count, plain);
    }
}

// The conversion of an out-of-range value is undefined in C++ and the minimum on x86: say so by hand.
int64_t to_integer(double x) {
    if (!(x >= -0x1p63 && x < 0x1p63)) return std::numeric_limits<int64_t>::min();
    return static_cast<int64_t>(x);
}
int64_t to_integer(int64_t x) {
    return x;
}

// A real number that i32 does not hold gives its minimum, as on x86; an integer wraps.
int32_t to_i32(double x) {
    if (!(x > -0x1p31 - 1 && x < 0x1p31)) return std::numeric_limits<int32_t>::min();
    return static_cast<int32_t>(x);
}
int32_t to_i32(int64_t x) {
    return static_cast<int32_t>(x);
}

template <typename Wide, typename T, typename Store>
void store_as(const Wide* wide, void* to, int64_t start, int64_t stride, int64_t count, Store store) {
    T* values = static_cast<T*>(to) + start * stride;
    for (int64_t i = 0; i < count; ++i) values[i * stride] = store(wide[i]);
}

template <typename Wide>
void store_wide(const Wide* wide, void* to, DType dtype, int64_t start, int64_t stride, int64_t count) {
    const auto as_float = [](Wide x) { return static_cast<float>(x); };
    switch (dtype) {
        case DType::f64:
            return store_as<Wide, double>(wide, to, start, stride, count,
                                          [](Wide x) { return static_cast<double>(x); });
        case DType::f32:
            return store_as<Wide, float>(wide, to, start, stride, count, as_float);
        case DType::f16:
            return store_as<Wide, uint16_t>(wide, to, start, stride, count,
                                            [=](Wide x) { return float_to_f16(as_float(x)); });
        case DType::bf16:
            return store_as<Wide, uint16_t>(wide, to, start, stride, count, [=](Wide x) {
                if (!TENON_FAULT(bf16_converted_by_cut)) return float_to_bf16(as_float(x));
                return static_cast<uint16_t>(std::bit_cast<uint32_t>(as_float(x)) >> 16);
            });
        case DType::i64:
            return store_as<Wide, int64_t>(wide, to, start, stride, count, [](Wide x) { return to_integer(x); });
        case DType::i32:
            return store_as<Wide, int32_t>(wide, to, start, stride, count, [](Wide x) { return to_i32(x); });
        case DType::u8:
            return store_as<Wide, uint8_t>(wide, to, start, stride, count,
                                           [](Wide x) { return static_cast<uint8_t>(to_integer(x)); });
        case DType::boolean:
            return store_as<Wide, uint8_t>(wide, to, start, stride, count,
                                           [](Wide x) { return static_cast<uint8_t>(x != 0 ? 1 : 0); });
    }
}

}  // namespace

void convert_row(const void* from, DType from_dtype, int64_t from_stride, void* to, DType to_dtype, int64_t to_stride,
                 int64_t count) {
    for (int64_t start = 0; start < count; start += chunk) {
        const int64_t length = std::min(chunk, count - start);
        if (is_floating(from_dtype)) {
            double wide[chunk];
            load_floating(from, from_dtype, start, from_stride, wide, length);
            store_wide(wide, to, to_dtype, start, to_stride, length);
        } else {
            int64_t wide[chunk];
            load_integer(from, from_dtype, start, from_stride, wide, length);
            store_wide(wide, to, to_dtype, start, to_stride, length);
        }
    }
}

}  // namespace tenon::cpu
