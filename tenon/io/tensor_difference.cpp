#include "tenon/io/tensor_difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "tenon/base/number.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"

namespace tenon::io {

namespace {

double relative_distance(double a, double b, double distance) {
    if (distance == 0 || !std::isfinite(distance)) return distance;
    return distance / std::max(std::abs(a), std::abs(b));
}

double distance_of(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
    return std::abs(a - b);
}

TensorDifference compare(const TensorSource& a, const StoredTensor& in_a, const TensorSource& b,
                         const StoredTensor& in_b) {
    TensorDifference found{.tensor = &in_a, .elements = numel(in_a.shape)};
    const std::string_view bytes_a = a.bytes(in_a), bytes_b = b.bytes(in_b);
    if (bytes_a == bytes_b) return found;
    const std::vector<double> values_a = values_of(a.read(in_a)), values_b = values_of(b.read(in_b));
    const auto size = static_cast<size_t>(size_of(in_a.dtype));
    for (size_t i = 0; i < values_a.size(); ++i) {
        if (bytes_a.substr(i * size, size) == bytes_b.substr(i * size, size)) continue;
        if (found.differing++ == 0) {
            found.first = static_cast<int64_t>(i);
            found.a = values_a[i];
            found.b = values_b[i];
        }
        const double distance = distance_of(values_a[i], values_b[i]);
        found.absolute = std::max(found.absolute, distance);
        found.relative = std::max(found.relative, relative_distance(values_a[i], values_b[i], distance));
    }
    return found;
}

}  // namespace

std::vector<double> values_of(const Tensor& tensor) {
    const ops::NoGrad guard;
    return ops::to_vector<double>(tensor.dtype() == DType::f64 ? tensor : ops::cast(tensor, DType::f64));
}

std::string value_text(double value, DType dtype) {
    if (dtype == DType::f64) return base::shortest(value);
    if (is_floating(dtype)) return base::shortest(static_cast<float>(value));
    return std::to_string(static_cast<int64_t>(value));
}

Dims index_of(int64_t n, const Shape& shape) {
    Dims index = contiguous_strides(shape);
    for (Dim& each : index) {
        const int64_t stride = std::max<int64_t>(each, 1);
        each = n / stride;
        n %= stride;
    }
    return index;
}

std::string describe(const StoredTensor& tensor) {
    return std::string(name_of(tensor.dtype)) + to_string(tensor.shape);
}

ValueRange range_of(const std::vector<double>& values) {
    ValueRange range;
    bool any = false;
    for (const double value : values) {
        if (!std::isfinite(value)) {
            ++range.not_finite;
            continue;
        }
        range.least = any ? std::min(range.least, value) : value;
        range.most = any ? std::max(range.most, value) : value;
        any = true;
    }
    return range;
}

SourceDifference difference(const TensorSource& a, const TensorSource& b) {
    SourceDifference found;
    for (const StoredTensor& in_a : a.tensors()) {
        const StoredTensor* in_b = b.find(in_a.name);
        if (in_b == nullptr) {
            found.only_a.push_back(&in_a);
        } else if (in_b->dtype != in_a.dtype || in_b->shape != in_a.shape) {
            found.misshapen.emplace_back(&in_a, in_b);
        } else if (TensorDifference each = compare(a, in_a, b, *in_b); each.differing > 0) {
            found.differing.push_back(each);
        }
    }
    for (const StoredTensor& in_b : b.tensors()) {
        if (a.find(in_b.name) == nullptr) found.only_b.push_back(&in_b);
    }
    return found;
}

}  // namespace tenon::io
