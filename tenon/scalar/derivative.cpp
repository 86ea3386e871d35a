#include "tenon/scalar/derivative.h"

#include <unordered_map>

#include "tenon/scalar/formulas.h"

namespace tenon::scalar {
namespace {

// A derivative, where null stands for an exact zero: a zero that takes part in no arithmetic, so that it can neither
// meet an infinity nor change the sign of a zero.
Expr sum(Expr a, Expr b) {
    if (a.is_null()) return b;
    if (b.is_null()) return a;
    return a + b;
}

Expr product(Expr derivative, Expr factor) {
    return derivative.is_null() ? derivative : factor * derivative;
}

Expr chosen(Expr mask, Expr a, Expr b) {
    if (a.is_null() && b.is_null()) return {};
    return select(mask, a.is_null() ? Expr(0.0) : a, b.is_null() ? Expr(0.0) : b);
}

Expr quotient(Expr y, Expr b, Expr da, Expr db) {
    const Expr from_a = da.is_null() ? da : da / b;
    return db.is_null() ? from_a : sum(from_a, -(y / b) * db);
}

Expr power(Expr y, Expr a, Expr b, Expr da, Expr db) {
    // An exponent of 0 gives a constant, whatever the base; a base of 0 has no logarithm but also no slope to it.
    const Expr from_a = da.is_null() ? da : product(da, select(b == 0.0, 0.0, b * pow(a, b - 1.0)));
    const Expr from_b = db.is_null() ? db : product(db, select(a == 0.0 && b >= 0.0, 0.0, y * log(a)));
    return sum(from_a, from_b);
}

// Derivative of `node` given those of its operands.
Expr rule(const Node& node, const Expr* d) {
    const Expr y(&node), a(node.operands[0]), b(node.operands[1]), c(node.operands[2]);
    switch (node.kind) {
        case Kind::add:
            return sum(d[0], d[1]);
        case Kind::sub:
            return d[1].is_null() ? d[0] : (d[0].is_null() ? -d[1] : d[0] - d[1]);
        case Kind::mul:
            return sum(product(d[0], b), product(d[1], a));
        case Kind::div:
            return quotient(y, b, d[0], d[1]);
        case Kind::neg:
            return d[0].is_null() ? d[0] : -d[0];
        case Kind::fma:
            return sum(sum(product(d[0], b), product(d[1], a)), d[2]);
        case Kind::sqrt:
            return product(d[0], 0.5 / y);
        case Kind::abs:
            return product(d[0], sign(a));
        case Kind::min:
            return chosen(a < b, d[0], d[1]);
        case Kind::max:
            return chosen(b < a, d[0], d[1]);
        case Kind::select:
            return chosen(a, d[1], d[2]);
        case Kind::exp:
            return product(d[0], y);
        case Kind::log:
            return d[0].is_null() ? d[0] : d[0] / a;
        case Kind::sin:
            return product(d[0], cos(a));
        case Kind::cos:
            return product(d[0], -sin(a));
        case Kind::tanh:
            return product(d[0], 1.0 - y * y);
        case Kind::erf:
            return product(d[0], 1.1283791670955125739 * exp(-(a * a)));  // 2 / sqrt(pi)
        case Kind::sigmoid:
            return product(d[0], y * (1.0 - y));
        case Kind::pow:
            return power(y, a, b, d[0], d[1]);
        case Kind::ldexp:
            return d[0].is_null() ? d[0] : ldexp(d[0], b);
        default:
            return {};
    }
}

}  // namespace

Expr derivative(Expr root, int64_t index) {
    std::unordered_map<const Node*, Expr> derivatives;
    for (const Node* node : topological_order(root)) {
        Expr& result = derivatives[node];
        if (node->kind == Kind::input) {
            if (node->index == index) result = 1.0;
            continue;
        }
        Expr operands[3];
        for (int i = 0; i < operand_count(node->kind); ++i) operands[i] = derivatives.at(node->operands[i]);
        result = rule(*node, operands);
    }
    const Expr result = derivatives.at(root.node());
    return result.is_null() ? Expr(0.0) : result;
}

}  // namespace tenon::scalar
