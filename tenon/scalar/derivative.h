// Symbolic derivatives of scalar expressions.
#pragma once

#include "tenon/scalar/expr.h"

namespace tenon::scalar {

// d root / d input(index). The constant 0 where root does not depend on it. Conventions where the derivative jumps:
// abs'(0) = 0; min, max and select take the derivative of the operand they choose; floor, round and comparisons have 0.
Expr derivative(Expr root, int64_t index);

}  // namespace tenon::scalar
