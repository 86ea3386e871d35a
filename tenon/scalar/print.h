// Expressions as C text.
//
//   f32_vector   over tenon/cpu/sets/vector.h; functions are calls of generated/tenon/cpu/sets/functions.h
//   f64          scalar C; functions are calls of tenon/cpu/f64_math.h
//   i64          scalar C, two's complement; an expression with a function has no i64 form
#pragma once

#include <string>

#include "tenon/scalar/expr.h"

namespace tenon::scalar {

enum class Target { f32_vector, f64, i64 };

// Whether the expression has a form in that arithmetic.
bool can_print(Expr root, Target target);

// A kernel over contiguous tiles: out[i] = root(in[0][i], in[1][i], …) for i in [0, n).
//   void name(const void* const* in, void* out, int64_t n)
// in[0 … inputs) are tiles of the compute type; in[inputs + a] points to attribute a, one number. A mask is written as
// bytes 0 and 1.
std::string print_kernel(const std::string& name, Expr root, int inputs, int attributes, Target target);

// `inline Vec name(Vec x0, …)`, function nodes expanded: for functions.h.
std::string print_vector_function(const std::string& name, Expr root, int inputs);

}  // namespace tenon::scalar
