#include "tenon/scalar/formulas.h"

namespace tenon::scalar {

Expr square(Expr x) {
    return x * x;
}
Expr reciprocal(Expr x) {
    return 1.0 / x;
}
Expr rsqrt(Expr x) {
    return 1.0 / sqrt(x);
}
Expr sign(Expr x) {
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, select(x == 0.0, 0.0, x)));
}
Expr relu(Expr x) {
    return max(0.0, x);
}
Expr silu(Expr x) {
    return x * sigmoid(x);
}

Expr gelu(Expr x) {
    const double sqrt_half = 0.70710678118654752440;
    return (0.5 * x) * (1.0 + erf(x * sqrt_half));
}

Expr gelu_tanh(Expr x) {
    const double twice_sqrt_2_over_pi = 1.5957691216057307117;
    const Expr u = fma(0.044715, x * x * x, x);
    return x * sigmoid(twice_sqrt_2_over_pi * u);
}

Expr maximum(Expr a, Expr b) {
    return select(is_nan(a), a, max(a, b));
}
Expr minimum(Expr a, Expr b) {
    return select(is_nan(a), a, min(a, b));
}
Expr is_nan(Expr x) {
    return x != x;
}
Expr as_number(Expr mask) {
    return select(mask, 1.0, 0.0);
}
Expr as_mask(Expr x) {
    return x != 0.0;
}

}  // namespace tenon::scalar
