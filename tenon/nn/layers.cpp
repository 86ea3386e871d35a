#include "tenon/nn/layers.h"

#include "tenon/base/error.h"
#include "tenon/ops/operators.h"

namespace tenon::nn {

Linear::Linear(int64_t in, int64_t out, bool with_bias, Initializer weight_initializer) {
    add_parameter("weight", weight, {out, in}, weight_initializer);
    if (with_bias) add_parameter("bias", bias, {out}, constant(0));
}

Tensor Linear::forward(const Tensor& x) const {
    const ModulePath path(name());
    return ops::linear(x, weight, bias);
}

Conv1D::Conv1D(int64_t in, int64_t out, Initializer weight_initializer) {
    add_parameter("weight", weight, {in, out}, weight_initializer);
    add_parameter("bias", bias, {out}, constant(0));
}

Tensor Conv1D::forward(const Tensor& x) const {
    const ModulePath path(name());
    return ops::linear(x, ops::transpose(weight), bias);
}

Embedding::Embedding(int64_t entries, int64_t width, Initializer weight_initializer) {
    add_parameter("weight", weight, {entries, width}, weight_initializer);
}

Tensor Embedding::forward(const Tensor& indices) const {
    const ModulePath path(name());
    return ops::embedding(weight, indices);
}

RMSNorm::RMSNorm(int64_t width, double eps) : eps_(eps) {
    add_parameter("weight", weight, {width}, constant(1));
}

Tensor RMSNorm::forward(const Tensor& x) const {
    const ModulePath path(name());
    return ops::rms_norm(x, weight, eps_);
}

LayerNorm::LayerNorm(int64_t width, double eps) : eps_(eps) {
    add_parameter("weight", weight, {width}, constant(1));
    add_parameter("bias", bias, {width}, constant(0));
}

Tensor LayerNorm::forward(const Tensor& x) const {
    const ModulePath path(name());
    return ops::layer_norm(x, weight, bias, eps_);
}

Dropout::Dropout(double p) : p_(p) {
    if (!(p >= 0 && p < 1)) {
        throw Error(Code::usage, "dropout", "p is " + std::to_string(p) + "; it must lie in [0, 1)");
    }
}

Tensor Dropout::forward(const Tensor& x) const {
    if (!training() || p_ == 0) return x;
    const ModulePath path(name());
    return ops::dropout(x, p_);
}

}  // namespace tenon::nn
