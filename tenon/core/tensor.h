// Tensor: an 8-byte handle to shape, strides and dtype over a shared storage.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/dtype.h"
#include "tenon/core/intrusive.h"
#include "tenon/core/storage.h"

namespace tenon {

// What autograd hangs on a tensor; defined there.
struct AutogradMeta {
    virtual ~AutogradMeta() = default;
};

// How a tensor is laid over a mesh; null where there is one process.
struct Placement;

struct TensorImpl : Counted {
    Intrusive<Storage> storage;
    int64_t byte_offset = 0;
    DType dtype = DType::f32;
    Device device = Device::cpu;
    bool requires_grad = false;
    // A number written in source code: it takes the dtype of the tensor it meets.
    bool weak = false;
    Shape shape;
    Dims strides;  // in elements
    std::unique_ptr<AutogradMeta> autograd;
    const Placement* placement = nullptr;
};

class Tensor {
public:
    Tensor() = default;
    // Uninitialised, contiguous.
    Tensor(const Shape& shape, DType dtype, Device device);
    // A view: same storage, other shape, strides (in elements) and offset (in elements from the base's first).
    Tensor(const Tensor& base, const Shape& shape, const Dims& strides, int64_t offset);

    bool defined() const noexcept { return static_cast<bool>(impl_); }
    explicit operator bool() const noexcept { return defined(); }

    const Shape& shape() const { return get().shape; }
    const Dims& strides() const { return get().strides; }
    int64_t rank() const { return get().shape.size(); }
    // Size of a dimension; negative counts from the end.
    Dim size(int64_t dim) const { return shape()[normalize_dim(dim, rank(), "size")]; }
    int64_t numel() const { return tenon::numel(get().shape); }
    DType dtype() const { return get().dtype; }
    Device device() const { return get().device; }
    bool is_contiguous() const;
    bool requires_grad() const { return get().requires_grad; }
    // Marks a leaf; returns *this so that it can follow a factory.
    Tensor& set_requires_grad(bool on);
    Storage& storage() const { return *get().storage; }
    int64_t byte_offset() const { return get().byte_offset; }
    // The same values without history. Shares the storage.
    Tensor detach() const;

    TensorImpl& get() const;
    bool same_as(const Tensor& other) const noexcept { return impl_ == other.impl_; }

private:
    Intrusive<TensorImpl> impl_;
};

static_assert(sizeof(Tensor) == 8);
static_assert(sizeof(TensorImpl) <= 192, "a tensor's metadata fits three cache lines");

// "f32[2, 3]"
std::string describe(const Tensor& tensor);

}  // namespace tenon
