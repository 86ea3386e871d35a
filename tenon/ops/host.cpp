#include "tenon/ops/host.h"

#include <array>

#include "tenon/base/error.h"

namespace tenon::ops {

namespace {

[[noreturn]] void no_values(std::string_view op, Device device) {
    throw Error(Code::usage, op, "a tensor on " + std::string(name_of(device)) + " has no values to copy");
}

void check_one(const Tensor& tensor) {
    if (tensor.numel() != 1) {
        throw Error(Code::usage, "item", "needs a tensor of one element, not " + describe(tensor));
    }
}

}  // namespace

HostCopies& host_copies(Device device) {
    static std::array<HostCopies, device_count> copies;
    return copies[static_cast<size_t>(device)];
}

void copy_to_host(const Tensor& from, void* to) {
    if (host_copies(from.device()).read == nullptr) no_values("copy_to_host", from.device());
    host_copies(from.device()).read(from, to);
}

void copy_from_host(Tensor& to, const void* from) {
    if (host_copies(to.device()).write == nullptr) no_values("copy_from_host", to.device());
    host_copies(to.device()).write(to, from);
    to.storage().wrote("copy_from_host");
}

void check_host_dtype(const Tensor& tensor, DType expected) {
    if (tensor.dtype() == expected) return;
    throw Error(Code::usage, "to_vector",
                describe(tensor) + " was read as " + std::string(name_of(expected)) + "; cast it first");
}

double item(const Tensor& tensor) {
    check_one(tensor);
    double f64 = 0;
    float f32 = 0;
    uint8_t u8 = 0;
    switch (tensor.dtype()) {
        case DType::f64:
            copy_to_host(tensor, &f64);
            return f64;
        case DType::f32:
            copy_to_host(tensor, &f32);
            return f32;
        case DType::u8:
        case DType::boolean:
            copy_to_host(tensor, &u8);
            return u8;
        case DType::i32:
        case DType::i64:
            return static_cast<double>(item_i64(tensor));
        case DType::f16:
        case DType::bf16:
            break;
    }
    throw Error(Code::usage, "item", "cast " + describe(tensor) + " to f32 first");
}

int64_t item_i64(const Tensor& tensor) {
    check_one(tensor);
    if (tensor.dtype() == DType::i32) {
        int32_t i32 = 0;
        copy_to_host(tensor, &i32);
        return i32;
    }
    check_host_dtype(tensor, DType::i64);
    int64_t i64 = 0;
    copy_to_host(tensor, &i64);
    return i64;
}

Tensor from_bytes(const void* values, int64_t count, const Shape& shape, DType dtype) {
    if (count != numel(shape)) {
        throw Error(Code::usage, "from_values",
                    std::to_string(count) + " values do not fill shape " + to_string(shape));
    }
    Tensor made(shape, dtype, Device::cpu);
    if (count > 0) copy_from_host(made, values);
    return made;
}

Tensor number(double value) {
    Tensor made = from_bytes(&value, 1, {}, DType::f64);
    made.get().weak = true;
    return made;
}

Tensor number(int64_t value) {
    Tensor made = from_bytes(&value, 1, {}, DType::i64);
    made.get().weak = true;
    return made;
}

}  // namespace tenon::ops
