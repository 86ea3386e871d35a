// Elementwise formulas that are no primitives: plain functions on expressions.
#pragma once

#include "tenon/scalar/expr.h"

namespace tenon::scalar {

Expr square(Expr x);
Expr reciprocal(Expr x);
Expr rsqrt(Expr x);  // 1 / sqrt(x), two roundings
Expr sign(Expr x);   // -1, 0, 1; NaN stays NaN
Expr relu(Expr x);   // max(x, 0); NaN stays NaN
Expr silu(Expr x);   // x sigmoid(x)
Expr gelu(Expr x);   // x/2 (1 + erf(x / sqrt 2)). Hendrycks and Gimpel 2016, arXiv:1606.08415
// x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): equal to x/2 (1 + tanh u), without its cancellation for negative x.
Expr gelu_tanh(Expr x);
Expr maximum(Expr a, Expr b);  // NaN if either is; b where they are equal (so of +0 and -0)
Expr minimum(Expr a, Expr b);
Expr is_nan(Expr x);
// 1 where the mask holds, 0 elsewhere.
Expr as_number(Expr mask);
// x != 0: a number as a truth value (NaN is true).
Expr as_mask(Expr x);

}  // namespace tenon::scalar
