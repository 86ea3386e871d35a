// The layers that models are made of. Each computes what the PyTorch module of its name computes.
#pragma once

#include "tenon/core/tensor.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

// y = x · weightᵀ + bias.   x: [..., in]   weight: [out, in]   y: [..., out]
class Linear : public Module {
public:
    Linear(int64_t in, int64_t out, bool with_bias, Initializer weight_initializer);
    Tensor forward(const Tensor& x) const;
    Tensor weight;
    Tensor bias;
};

// y = x · weight + bias.   weight: [in, out], as GPT-2's checkpoints have it.
class Conv1D : public Module {
public:
    Conv1D(int64_t in, int64_t out, Initializer weight_initializer);
    Tensor forward(const Tensor& x) const;
    Tensor weight;
    Tensor bias;
};

// Rows of weight by index.   indices: i64 [...]   weight: [entries, width]   result: [..., width]
class Embedding : public Module {
public:
    Embedding(int64_t entries, int64_t width, Initializer weight_initializer);
    Tensor forward(const Tensor& indices) const;
    Tensor weight;
};

// x / sqrt(mean(x²) + eps) · weight over the last dim. Zhang and Sennrich 2019, arXiv:1910.07467.
class RMSNorm : public Module {
public:
    RMSNorm(int64_t width, double eps);
    Tensor forward(const Tensor& x) const;
    Tensor weight;

private:
    double eps_;
};

// Zero mean, unit variance over the last dim, then weight and bias. Ba et al. 2016, arXiv:1607.06450.
class LayerNorm : public Module {
public:
    LayerNorm(int64_t width, double eps);
    Tensor forward(const Tensor& x) const;
    Tensor weight;
    Tensor bias;

private:
    double eps_;
};

// Zeroes elements with probability p in training and scales the rest by 1 / (1 − p).
class Dropout : public Module {
public:
    explicit Dropout(double p);
    Tensor forward(const Tensor& x) const;
    double p() const { return p_; }

private:
    double p_;
};

}  // namespace tenon::nn
