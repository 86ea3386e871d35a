// What two sets of tensors have that the other has not, value by value; and what a tensor holds in short.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/io/tensor_source.h"

namespace tenon::io {

// The elements in logical order; an i64 beyond 2^53 is rounded.
std::vector<double> values_of(const Tensor& tensor);
// The shortest text that reads back as the same element of that dtype.
std::string value_text(double value, DType dtype);
// The index of the n-th element in logical order.
Dims index_of(int64_t n, const Shape& shape);
// "f32[2, 3]"
std::string describe(const StoredTensor& tensor);

struct ValueRange {
    double least = 0, most = 0;  // of the finite ones; 0 where there are none
    int64_t not_finite = 0;
};
ValueRange range_of(const std::vector<double>& values);

// Elements differ where their bits do. Where one is not finite, so are both distances.
struct TensorDifference {
    const StoredTensor* tensor = nullptr;  // in A
    int64_t elements = 0;
    int64_t differing = 0;
    int64_t first = 0;  // the first that differs
    double a = 0, b = 0;
    double absolute = 0;  // the largest |a - b|
    double relative = 0;  // the largest |a - b| / max(|a|, |b|)
};

// Refers to the sources.
struct SourceDifference {
    std::vector<const StoredTensor*> only_a, only_b;
    std::vector<std::pair<const StoredTensor*, const StoredTensor*>> misshapen;  // another dtype or shape
    std::vector<TensorDifference> differing;

    bool empty() const { return only_a.empty() && only_b.empty() && misshapen.empty() && differing.empty(); }
};

SourceDifference difference(const TensorSource& a, const TensorSource& b);

}  // namespace tenon::io
