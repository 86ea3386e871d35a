#include "tenon/scalar/expand.h"

#include "tenon/scalar/polynomials.h"

namespace tenon::scalar {
namespace {

Expr expand(Kind kind, Expr a, Expr b) {
    switch (kind) {
        case Kind::exp:
            return polynomials::exp(a);
        case Kind::log:
            return polynomials::log(a);
        case Kind::sin:
            return polynomials::sin(a);
        case Kind::cos:
            return polynomials::cos(a);
        case Kind::tanh:
            return polynomials::tanh(a);
        case Kind::erf:
            return polynomials::erf(a);
        case Kind::sigmoid:
            return polynomials::sigmoid(a);
        case Kind::pow:
            return polynomials::pow(a, b);
        default:
            return {};
    }
}

}  // namespace

Expr expand_functions(Expr root) {
    return rebuild(root,
                   [](const Node& node, const Expr* operands) { return expand(node.kind, operands[0], operands[1]); });
}

Expr expansion(Kind kind) {
    return expand(kind, input(0), input(1));
}

}  // namespace tenon::scalar
