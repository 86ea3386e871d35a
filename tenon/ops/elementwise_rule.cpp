#include "tenon/ops/elementwise_rule.h"

#include <cmath>
#include <optional>

namespace tenon::ops {

namespace {

// bool < integer < floating: PyTorch's categories.
int category(DType dtype) {
    return is_floating(dtype) ? 2 : is_integral(dtype) ? 1 : 0;
}

void meet(std::optional<DType>& so_far, DType dtype) {
    so_far = so_far ? promote(*so_far, dtype) : dtype;
}

// The higher-priority dtype stands unless the other is of a higher category.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
    if (!higher) return lower;
    if (!lower) return higher;
    return category(*lower) > category(*higher) ? promote(*higher, *lower) : higher;
}

// A bound of 0.5 is no integer: it makes floats of integers, as a floating number does.
bool has_a_fraction(const Call& call) {
    for (const AttributeSchema& attribute : call.op.schema().attributes) {
        if (attribute.type != AttributeType::real) continue;
        const double value = call.real(attribute.slot);
        if (std::isfinite(value) && std::trunc(value) != value) return true;
    }
    return false;
}

}  // namespace

DType promoted_dtype(std::span<const Tensor> inputs) {
    std::optional<DType> dimensioned;
    std::optional<DType> zero_dimensional;
    std::optional<DType> number;
    for (const Tensor& input : inputs) {
        if (!input.defined()) continue;
        const TensorImpl& t = input.get();
        // A number is f64 or i64 as stored; it asks only for "some floating" or "some integer" dtype.
        if (t.weak) {
            meet(number, t.dtype == DType::f64 ? DType::f32 : t.dtype);
        } else {
            meet(t.shape.empty() ? zero_dimensional : dimensioned, t.dtype);
        }
    }
    const auto result = combine(combine(dimensioned, zero_dimensional), number);
    return result.value_or(DType::f32);
}

void elementwise_rule(const Call& call, Results& results) {
    Shape shape;
    for (const Tensor& input : call.inputs) {
        if (input.shape() == shape) continue;
        shape = broadcast(shape, input.shape(), call.op.name());
    }
    DType dtype = DType::boolean;
    if (call.op.result_kind() != ElementwiseResult::boolean) {
        dtype = promoted_dtype(call.inputs);
        const bool wants_floats = call.op.result_kind() == ElementwiseResult::floating;
        if (!is_floating(dtype) && (wants_floats || has_a_fraction(call))) dtype = DType::f32;
    }
    results.add(shape, dtype);
}

}  // namespace tenon::ops
