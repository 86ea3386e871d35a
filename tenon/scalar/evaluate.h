// The value of an expression, one element at a time: slow and plain. The truth that kernels are compared with, and the
// last provider of every elementwise op.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/scalar/expr.h"

namespace tenon::scalar {

// The f64 functions to use: a layer that may import libm passes its own (tenon/cpu/f64_math.h).
struct Functions64 {
    double (*exp)(double);
    double (*log)(double);
    double (*sin)(double);
    double (*cos)(double);
    double (*tanh)(double);
    double (*erf)(double);
    double (*pow)(double, double);
    double (*fma)(double, double, double);
};

class Evaluator {
public:
    explicit Evaluator(Expr root);

    // Inputs and attributes by index. A mask gives 0 or 1. f32 has the bits of every f32 kernel.
    float f32(const float* inputs, const float* attributes) const;
    double f64(const double* inputs, const double* attributes, const Functions64& functions) const;
    // Throws for an expression without an integer form (a division, a function).
    int64_t i64(const int64_t* inputs, const int64_t* attributes) const;

private:
    struct Step {
        Kind kind;
        int operands[3];
        int64_t index;
        double constant;
    };
    template <class Number, class Apply>
    Number run(const Number* inputs, const Number* attributes, Apply apply) const;

    std::vector<Step> steps_;
};

}  // namespace tenon::scalar
