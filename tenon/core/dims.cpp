#include "tenon/core/dims.h"

#include "tenon/base/error.h"

namespace tenon {

void Dims::push_back(Dim value) {
    insert(size_, value);
}

void Dims::insert(int64_t at, Dim value) {
    resize(size_ + 1);
    std::copy_backward(begin() + at, end() - 1, end());
    (*this)[at] = value;
}

void Dims::erase(int64_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
}

void Dims::resize(int64_t count) {
    if (count > capacity_) {
        const auto capacity = static_cast<int32_t>(std::max<int64_t>(count, 2 * int64_t{capacity_}));
        Dim* bigger = new Dim[static_cast<size_t>(capacity)];
        std::copy(begin(), end(), bigger);
        const int32_t kept = size_;
        release();
        heap_ = bigger;
        capacity_ = capacity;
        size_ = kept;
    }
    if (count > size_) std::fill(begin() + size_, begin() + count, 0);
    size_ = static_cast<int32_t>(count);
}

void Dims::assign(std::span<const Dim> values) {
    resize(static_cast<int64_t>(values.size()));
    std::copy(values.begin(), values.end(), begin());
}

void Dims::take(Dims& other) noexcept {
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (capacity_ == inline_capacity) {
        std::copy(other.inline_, other.inline_ + size_, inline_);
    } else {
        heap_ = other.heap_;
    }
    other.capacity_ = inline_capacity;
    other.size_ = 0;
}

void Dims::release() noexcept {
    if (capacity_ != inline_capacity) delete[] heap_;
    capacity_ = inline_capacity;
    size_ = 0;
}

int64_t numel(const Shape& shape) {
    int64_t count = 1;
    for (const Dim size : shape) {
        if (__builtin_mul_overflow(count, size, &count)) {
            throw Error(Code::usage, "shape", to_string(shape) + " has more elements than fit in 63 bits");
        }
    }
    return count;
}

Dims contiguous_strides(const Shape& shape) {
    Dims strides(shape.size(), 1);
    for (int64_t d = shape.size() - 2; d >= 0; --d) {
        // Only an empty tensor's strides can overflow, and they reach nothing.
        if (__builtin_mul_overflow(strides[d + 1], std::max<Dim>(shape[d + 1], 1), &strides[d])) strides[d] = 0;
    }
    return strides;
}

std::string to_string(const Dims& dims) {
    std::string text = "[";
    for (int64_t d = 0; d < dims.size(); ++d) {
        if (d > 0) text += ", ";
        text += std::to_string(dims[d]);
    }
    return text + "]";
}

int64_t normalize_dim(int64_t dim, int64_t rank, std::string_view op) {
    const int64_t bound = std::max<int64_t>(rank, 1);
    if (dim < -bound || dim >= bound) {
        throw Error(Code::usage, op,
                    "dim " + std::to_string(dim) + " is out of range for a tensor of rank " + std::to_string(rank) +
                        "; it may be " + std::to_string(-bound) + " to " + std::to_string(bound - 1));
    }
    return dim < 0 ? dim + bound : dim;
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view op) {
    const int64_t rank = std::max(a.size(), b.size());
    Shape out(rank, 1);
    for (int64_t d = 1; d <= rank; ++d) {
        const Dim from_a = d <= a.size() ? a[a.size() - d] : 1;
        const Dim from_b = d <= b.size() ? b[b.size() - d] : 1;
        if (from_a != from_b && from_a != 1 && from_b != 1) {
            throw Error(Code::usage, op,
                        "shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast: sizes " +
                            std::to_string(from_a) + " and " + std::to_string(from_b) + " meet at dim " +
                            std::to_string(-d));
        }
        out[rank - d] = from_a == 1 ? from_b : from_a;
    }
    return out;
}

}  // namespace tenon
