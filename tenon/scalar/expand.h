// Function nodes into the polynomials that compute them in f32.
#pragma once

#include "tenon/scalar/expr.h"

namespace tenon::scalar {

// `root` with exp, log, sin, cos, tanh, erf and pow replaced by arithmetic: what an f32 kernel computes, bit for bit.
Expr expand_functions(Expr root);

// The expansion of one function of input 0 (and input 1 for pow); null for a kind that is no function.
Expr expansion(Kind kind);

}  // namespace tenon::scalar
