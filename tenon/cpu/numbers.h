// Plain loops over any dtype: how each number is stored and in what it is summed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/base/error.h"
#include "tenon/core/dtype.h"
#include "tenon/cpu/half.h"

namespace tenon::cpu {

// T is stored; sums and products are done in Working, which is unsigned for integers so that they wrap.
template <typename T, typename W>
struct PlainNumber {
    using Stored = T;
    using Working = W;
    static Working load(Stored x) noexcept { return static_cast<Working>(x); }
    static Stored store(Working x) noexcept { return static_cast<Stored>(x); }
};

// 16-bit floats compute in f32 and round once when stored.
template <float (*to_float)(uint16_t), uint16_t (*from_float)(float)>
struct HalfNumber {
    using Stored = uint16_t;
    using Working = float;
    static Working load(Stored x) noexcept { return to_float(x); }
    static Stored store(Working x) noexcept { return from_float(x); }
};

using F64 = PlainNumber<double, double>;
using F32 = PlainNumber<float, float>;
using F16 = HalfNumber<f16_to_float, float_to_f16>;
using BF16 = HalfNumber<bf16_to_float, float_to_bf16>;
using I64 = PlainNumber<int64_t, uint64_t>;
using I32 = PlainNumber<int32_t, uint32_t>;
using U8 = PlainNumber<uint8_t, uint32_t>;

// Calls body with the number type of a floating dtype; throws Error(usage) for another.
template <typename Body>
void with_floating(DType dtype, std::string_view op, Body body) {
    switch (dtype) {
        case DType::f64:
            return body(F64{});
        case DType::f32:
            return body(F32{});
        case DType::f16:
            return body(F16{});
        case DType::bf16:
            return body(BF16{});
        default:
            break;
    }
    throw Error(Code::usage, op, "takes floating numbers, not " + std::string(name_of(dtype)));
}

// The same for every dtype but bool, which has no arithmetic.
template <typename Body>
void with_number(DType dtype, std::string_view op, Body body) {
    switch (dtype) {
        case DType::i64:
            return body(I64{});
        case DType::i32:
            return body(I32{});
        case DType::u8:
            return body(U8{});
        case DType::boolean:
            throw Error(Code::usage, op, "bool has no sums; cast to i64 first");
        default:
            return with_floating(dtype, op, body);
    }
}

// Calls body with an unsigned integer of the dtype's size, for code that only moves elements.
template <typename Body>
void with_bits(DType dtype, Body body) {
    switch (size_of(dtype)) {
        case 1:
            return body(uint8_t{});
        case 2:
            return body(uint16_t{});
        case 4:
            return body(uint32_t{});
        default:
            return body(uint64_t{});
    }
}

}  // namespace tenon::cpu
