#include "tenon/core/tensor.h"

#include <utility>

#include "tenon/base/error.h"

namespace tenon {

Tensor::Tensor(const Shape& shape, DType dtype, Device device) : impl_(new TensorImpl) {
    for (const Dim size : shape) {
        if (size < 0) throw Error(Code::usage, "tensor", "a size is negative in shape " + to_string(shape));
    }
    int64_t bytes = 0;
    if (__builtin_mul_overflow(tenon::numel(shape), size_of(dtype), &bytes)) {
        throw Error(Code::usage, "tensor", to_string(shape) + " has more bytes than fit in 63 bits");
    }
    impl_->storage = Intrusive<Storage>(new Storage(device, bytes));
    impl_->dtype = dtype;
    impl_->device = device;
    impl_->shape = shape;
    impl_->strides = contiguous_strides(shape);
}

Tensor::Tensor(const Tensor& base, const Shape& shape, const Dims& strides, int64_t offset) : impl_(new TensorImpl) {
    const TensorImpl& from = base.get();
    impl_->storage = from.storage;
    impl_->byte_offset = from.byte_offset + offset * size_of(from.dtype);
    impl_->dtype = from.dtype;
    impl_->device = from.device;
    impl_->shape = shape;
    impl_->strides = strides;
    impl_->placement = from.placement;
}

TensorImpl& Tensor::get() const {
    if (!impl_) throw Error(Code::usage, "tensor", "an undefined tensor was used");
    return *impl_;
}

bool Tensor::is_contiguous() const {
    const TensorImpl& t = get();
    int64_t expected = 1;
    bool in_order = true;
    for (int64_t d = t.shape.size() - 1; d >= 0; --d) {
        if (t.shape[d] == 0) return true;
        if (t.shape[d] != 1 && t.strides[d] != expected) in_order = false;
        expected *= t.shape[d];
    }
    return in_order;
}

Tensor& Tensor::set_requires_grad(bool on) {
    if (on && !is_floating(dtype())) {
        throw Error(Code::usage, "requires_grad",
                    "only floating tensors have gradients; this one is " + describe(*this));
    }
    get().requires_grad = on;
    return *this;
}

Tensor Tensor::detach() const {
    Tensor copy(*this, shape(), strides(), 0);
    copy.get().weak = get().weak;
    return copy;
}

std::string describe(const Tensor& tensor) {
    if (!tensor.defined()) return "undefined";
    return std::string(name_of(tensor.dtype())) + to_string(tensor.shape());
}

}  // namespace tenon
