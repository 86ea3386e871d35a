// The scalar expression: elementwise math as an immutable, hash-consed graph.
//
// Operators are overloaded, so `x * sigmoid(x)` reads as math and is one Expr. Equal expressions are the same node,
// so common subexpressions are computed once by every printer and evaluator. Nodes live for the whole process.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::scalar {

// The primitives. Each rounds once (exp … pow: as their polynomials in functions.h say).
enum class Kind : uint8_t {
    input,      // the index-th tensor operand
    attribute,  // the index-th scalar argument of the op
    constant,
    add,
    sub,
    mul,
    div,
    neg,
    fma,  // a * b + c, rounded once
    sqrt,
    abs,
    min,  // a < b ? a : b    so the second operand where either is NaN or both are equal
    max,  // b < a ? a : b    the same
    floor,
    round,  // to the nearest integer, ties to even
    less,
    less_equal,
    equal,  // real, real -> mask; false where an operand is NaN
    logical_and,
    logical_or,
    logical_not,  // masks
    select,       // mask ? a : b, by value: the other operand leaves no trace
    exp,
    log,
    sin,
    cos,
    tanh,
    erf,
    sigmoid,
    pow,       // function nodes
    ldexp,     // a * 2^b rounded once; b an integer, |b| <= 252
    exponent,  // floor(log2(a)) of a positive normal a; any value elsewhere
    call,      // mask ? function(a) : b with one of ours (index is a Function); for what needs integers
};

enum class Type : uint8_t { real, mask };

// Scalar functions of ours that `call` reaches (range_reduction.h).
enum class Function : uint8_t { quarter_turns, quarter_turn_remainder };

struct Node {
    Kind kind = Kind::constant;
    Type type = Type::real;
    int64_t index = 0;  // of an input, an attribute or a Function
    double constant = 0;
    const Node* operands[3] = {nullptr, nullptr, nullptr};
    uint32_t id = 0;  // in order of creation, so an operand's id is always lower
};

int operand_count(Kind kind) noexcept;
const char* name(Kind kind) noexcept;
// exp … pow: in f32 a polynomial, in f64 the C library's.
bool is_function(Kind kind) noexcept;

class Expr {
public:
    Expr() = default;
    Expr(double constant);  // implicit, so that 0.5 * x is an expression
    explicit Expr(const Node* node) noexcept : node_(node) {}

    const Node* node() const noexcept { return node_; }
    const Node& operator*() const noexcept { return *node_; }
    const Node* operator->() const noexcept { return node_; }
    bool is_null() const noexcept { return node_ == nullptr; }
    bool is_mask() const noexcept { return node_->type == Type::mask; }
    bool same(Expr other) const noexcept { return node_ == other.node_; }

private:
    const Node* node_ = nullptr;
};

Expr input(int64_t index);
Expr attribute(int64_t index);

// The node of that kind, or a simpler expression with the same bits for every input. Throws on a real where a mask
// is needed or the reverse.
Expr make(Kind kind, Expr a, Expr b = {}, Expr c = {}, int64_t index = 0);

inline Expr operator+(Expr a, Expr b) {
    return make(Kind::add, a, b);
}
inline Expr operator-(Expr a, Expr b) {
    return make(Kind::sub, a, b);
}
inline Expr operator*(Expr a, Expr b) {
    return make(Kind::mul, a, b);
}
inline Expr operator/(Expr a, Expr b) {
    return make(Kind::div, a, b);
}
inline Expr operator-(Expr a) {
    return make(Kind::neg, a);
}
inline Expr operator<(Expr a, Expr b) {
    return make(Kind::less, a, b);
}
inline Expr operator<=(Expr a, Expr b) {
    return make(Kind::less_equal, a, b);
}
inline Expr operator>(Expr a, Expr b) {
    return make(Kind::less, b, a);
}
inline Expr operator>=(Expr a, Expr b) {
    return make(Kind::less_equal, b, a);
}
inline Expr operator==(Expr a, Expr b) {
    return make(Kind::equal, a, b);
}
inline Expr operator!(Expr a) {
    return make(Kind::logical_not, a);
}
inline Expr operator!=(Expr a, Expr b) {
    return !(a == b);
}
// Both operands are always evaluated: an Expr has no control flow.
inline Expr operator&&(Expr a, Expr b) {
    return make(Kind::logical_and, a, b);
}
inline Expr operator||(Expr a, Expr b) {
    return make(Kind::logical_or, a, b);
}

inline Expr fma(Expr a, Expr b, Expr c) {
    return make(Kind::fma, a, b, c);
}
inline Expr sqrt(Expr a) {
    return make(Kind::sqrt, a);
}
inline Expr abs(Expr a) {
    return make(Kind::abs, a);
}
inline Expr min(Expr a, Expr b) {
    return make(Kind::min, a, b);
}
inline Expr max(Expr a, Expr b) {
    return make(Kind::max, a, b);
}
inline Expr floor(Expr a) {
    return make(Kind::floor, a);
}
inline Expr round(Expr a) {
    return make(Kind::round, a);
}
inline Expr select(Expr mask, Expr a, Expr b) {
    return make(Kind::select, mask, a, b);
}
inline Expr exp(Expr a) {
    return make(Kind::exp, a);
}
inline Expr log(Expr a) {
    return make(Kind::log, a);
}
inline Expr sin(Expr a) {
    return make(Kind::sin, a);
}
inline Expr cos(Expr a) {
    return make(Kind::cos, a);
}
inline Expr tanh(Expr a) {
    return make(Kind::tanh, a);
}
inline Expr erf(Expr a) {
    return make(Kind::erf, a);
}
// 1 / (1 + e^-x): a node of its own so that its derivative, y (1 - y), stays finite where e^-x overflows.
inline Expr sigmoid(Expr a) {
    return make(Kind::sigmoid, a);
}
inline Expr pow(Expr a, Expr b) {
    return make(Kind::pow, a, b);
}
inline Expr ldexp(Expr a, Expr n) {
    return make(Kind::ldexp, a, n);
}
inline Expr exponent(Expr a) {
    return make(Kind::exponent, a);
}
inline Expr call_where(Expr mask, Function function, Expr a, Expr otherwise) {
    return make(Kind::call, mask, a, otherwise, static_cast<int64_t>(function));
}

// Every node `root` needs, operands before users, each once.
std::vector<const Node*> topological_order(Expr root);

// `root` with each node replaced by replace(node, its rebuilt operands); a null Expr keeps the node's kind.
Expr rebuild(Expr root, Expr (*replace)(const Node& node, const Expr* operands));

}  // namespace tenon::scalar
