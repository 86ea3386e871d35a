// The one door to a tensor's elements. Declared here and used in cpu and io only: everything above ops runs without it.
#pragma once

#include "tenon/core/tensor.h"

namespace tenon {

struct RawAccess {
    static void* block(const Storage& storage) noexcept { return storage.block_; }
};

namespace cpu {

// The first element. The caller knows the dtype and walks the strides.
template <typename T = void>
T* data(const Tensor& tensor) {
    auto* bytes = static_cast<char*>(RawAccess::block(tensor.storage()));
    // Elements of any dtype live in storage bytes: the cast is what this door is for.
    return reinterpret_cast<T*>(bytes + tensor.byte_offset());
}

}  // namespace cpu
}  // namespace tenon
