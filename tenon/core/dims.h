// Sizes and strides: 64-bit integers, inline up to six of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tenon {

// A size of a dimension. A symbol joins it when compiled graphs take ranges of sizes.
using Dim = int64_t;

class Dims {
public:
    Dims() = default;
    Dims(std::initializer_list<Dim> values) : Dims(std::span<const Dim>(values.begin(), values.size())) {}
    explicit Dims(std::span<const Dim> values) { assign(values); }
    Dims(int64_t count, Dim value) {
        resize(count);
        std::fill_n(begin(), count, value);
    }
    Dims(const Dims& other) { assign(other); }
    Dims(Dims&& other) noexcept { take(other); }
    Dims& operator=(const Dims& other) {
        if (this != &other) assign(other);
        return *this;
    }
    Dims& operator=(Dims&& other) noexcept {
        if (this != &other) {
            release();
            take(other);
        }
        return *this;
    }
    ~Dims() { release(); }

    int64_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    Dim* begin() noexcept { return data(); }
    Dim* end() noexcept { return data() + size_; }
    const Dim* begin() const noexcept { return data(); }
    const Dim* end() const noexcept { return data() + size_; }
    Dim& operator[](int64_t i) noexcept { return data()[i]; }
    Dim operator[](int64_t i) const noexcept { return data()[i]; }
    Dim back() const noexcept { return data()[size_ - 1]; }
    operator std::span<const Dim>() const noexcept { return {data(), static_cast<size_t>(size_)}; }

    void push_back(Dim value);
    void insert(int64_t at, Dim value);
    void erase(int64_t at);
    // New elements are zero.
    void resize(int64_t count);

    friend bool operator==(const Dims& a, const Dims& b) noexcept {
        return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
    }

private:
    static constexpr int32_t inline_capacity = 6;

    Dim* data() noexcept { return capacity_ == inline_capacity ? inline_ : heap_; }
    const Dim* data() const noexcept { return capacity_ == inline_capacity ? inline_ : heap_; }
    void assign(std::span<const Dim> values);
    void take(Dims& other) noexcept;
    void release() noexcept;

    int32_t size_ = 0;
    int32_t capacity_ = inline_capacity;
    union {
        Dim inline_[inline_capacity];
        Dim* heap_;
    };
};

using Shape = Dims;

// Product of the sizes; 1 for a scalar. Throws when it does not fit in 63 bits.
int64_t numel(const Shape& shape);
// Row-major strides in elements.
Dims contiguous_strides(const Shape& shape);
// "[2, 3]"
std::string to_string(const Dims& dims);
// Maps -rank..rank-1 to 0..rank-1 (a scalar counts as rank 1). Throws Error(usage) naming op, the dim and the shape.
int64_t normalize_dim(int64_t dim, int64_t rank, std::string_view op);
// NumPy broadcasting. Throws Error(usage) with both shapes.
Shape broadcast(const Shape& a, const Shape& b, std::string_view op);

}  // namespace tenon
