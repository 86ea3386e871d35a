#include "tenon/scalar/expr.h"

#include <bit>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tenon/base/error.h"

namespace tenon::scalar {
namespace {

struct Description {
    const char* name;
    int operands;
};

Description describe(Kind kind) noexcept {
    switch (kind) {
        case Kind::input:
            return {"input", 0};
        case Kind::attribute:
            return {"attribute", 0};
        case Kind::constant:
            return {"constant", 0};
        case Kind::add:
            return {"add", 2};
        case Kind::sub:
            return {"sub", 2};
        case Kind::mul:
            return {"mul", 2};
        case Kind::div:
            return {"div", 2};
        case Kind::neg:
            return {"neg", 1};
        case Kind::fma:
            return {"fma", 3};
        case Kind::sqrt:
            return {"sqrt", 1};
        case Kind::abs:
            return {"abs", 1};
        case Kind::min:
            return {"min", 2};
        case Kind::max:
            return {"max", 2};
        case Kind::floor:
            return {"floor", 1};
        case Kind::round:
            return {"round", 1};
        case Kind::less:
            return {"less", 2};
        case Kind::less_equal:
            return {"less_equal", 2};
        case Kind::equal:
            return {"equal", 2};
        case Kind::logical_and:
            return {"logical_and", 2};
        case Kind::logical_or:
            return {"logical_or", 2};
        case Kind::logical_not:
            return {"logical_not", 1};
        case Kind::select:
            return {"select", 3};
        case Kind::exp:
            return {"exp", 1};
        case Kind::log:
            return {"log", 1};
        case Kind::sin:
            return {"sin", 1};
        case Kind::cos:
            return {"cos", 1};
        case Kind::tanh:
            return {"tanh", 1};
        case Kind::erf:
            return {"erf", 1};
        case Kind::sigmoid:
            return {"sigmoid", 1};
        case Kind::pow:
            return {"pow", 2};
        case Kind::ldexp:
            return {"ldexp", 2};
        case Kind::exponent:
            return {"exponent", 1};
        case Kind::call:
            return {"call", 3};
    }
    return {"?", 0};
}

bool gives_mask(Kind kind) noexcept {
    switch (kind) {
        case Kind::less:
        case Kind::less_equal:
        case Kind::equal:
        case Kind::logical_and:
        case Kind::logical_or:
        case Kind::logical_not:
            return true;
        default:
            return false;
    }
}

Type operand_type(Kind kind, int operand) noexcept {
    switch (kind) {
        case Kind::logical_and:
        case Kind::logical_or:
        case Kind::logical_not:
            return Type::mask;
        case Kind::select:
        case Kind::call:
            return operand == 0 ? Type::mask : Type::real;
        default:
            return Type::real;
    }
}

bool equal_nodes(const Node& a, const Node& b) noexcept {
    return a.kind == b.kind && a.index == b.index &&
           std::bit_cast<uint64_t>(a.constant) == std::bit_cast<uint64_t>(b.constant) &&
           a.operands[0] == b.operands[0] && a.operands[1] == b.operands[1] && a.operands[2] == b.operands[2];
}

struct HashNode {
    size_t operator()(const Node* node) const noexcept {
        uint64_t hash = static_cast<uint64_t>(node->kind) * 0x9e3779b97f4a7c15u;
        auto mix = [&hash](uint64_t value) { hash = (hash ^ value ^ (hash >> 29)) * 0xbf58476d1ce4e5b9u; };
        mix(static_cast<uint64_t>(node->index));
        mix(std::bit_cast<uint64_t>(node->constant));
        for (const Node* operand : node->operands) mix(operand ? operand->id + 1u : 0u);
        return hash;
    }
};

struct EqualNode {
    bool operator()(const Node* a, const Node* b) const noexcept { return equal_nodes(*a, *b); }
};

// The one node with this content.
const Node* intern(Node node) {
    static std::mutex mutex;
    static std::deque<Node> nodes;  // never moves what it holds
    static std::unordered_set<const Node*, HashNode, EqualNode> index;
    std::lock_guard lock(mutex);
    if (auto found = index.find(&node); found != index.end()) return *found;
    node.id = static_cast<uint32_t>(nodes.size());
    nodes.push_back(node);
    index.insert(&nodes.back());
    return &nodes.back();
}

bool is_constant(Expr e, double value) {
    return e->kind == Kind::constant && std::bit_cast<uint64_t>(e->constant) == std::bit_cast<uint64_t>(value);
}

// Simplifications that keep every bit for every input: signed zeros, infinities and NaN-ness included. Not here, for
// that reason: x + 0 (-0 + 0 is +0), 0 * x, x - x, and folding of constants (it would round as a double).
Expr simplify(Kind kind, Expr a, Expr b, Expr c) {
    switch (kind) {
        case Kind::mul:
            if (is_constant(a, 1)) return b;
            if (is_constant(b, 1)) return a;
            break;
        case Kind::div:
            if (is_constant(b, 1)) return a;
            break;
        case Kind::add:
            if (is_constant(a, -0.0)) return b;
            if (is_constant(b, -0.0)) return a;
            break;
        case Kind::sub:
            if (is_constant(b, 0.0)) return a;
            break;
        case Kind::neg:
            if (a->kind == Kind::neg) return Expr(a->operands[0]);
            if (a->kind == Kind::constant) return Expr(-a->constant);
            break;
        case Kind::abs:
            if (a->kind == Kind::abs) return a;
            if (a->kind == Kind::neg) return abs(Expr(a->operands[0]));
            break;
        case Kind::logical_not:
            if (a->kind == Kind::logical_not) return Expr(a->operands[0]);
            break;
        case Kind::logical_and:
        case Kind::logical_or:
            if (a.same(b)) return a;
            break;
        case Kind::select:
            if (b.same(c)) return b;
            if (a->kind == Kind::logical_not) return select(Expr(a->operands[0]), c, b);
            break;
        default:
            break;
    }
    return {};
}

}  // namespace

int operand_count(Kind kind) noexcept {
    return describe(kind).operands;
}
bool is_function(Kind kind) noexcept {
    return kind >= Kind::exp && kind <= Kind::pow;
}
const char* name(Kind kind) noexcept {
    return describe(kind).name;
}

Expr::Expr(double constant) {
    Node node;
    node.kind = Kind::constant;
    node.constant = constant;
    node_ = intern(node);
}

Expr input(int64_t index) {
    Node node;
    node.kind = Kind::input;
    node.index = index;
    return Expr(intern(node));
}

Expr attribute(int64_t index) {
    Node node;
    node.kind = Kind::attribute;
    node.index = index;
    return Expr(intern(node));
}

Expr make(Kind kind, Expr a, Expr b, Expr c, int64_t index) {
    const Expr operands[3] = {a, b, c};
    Node node;
    node.kind = kind;
    node.type = gives_mask(kind) ? Type::mask : Type::real;
    node.index = index;
    for (int i = 0; i < operand_count(kind); ++i) {
        if (operands[i].is_null() || operands[i]->type != operand_type(kind, i)) {
            const char* need = operand_type(kind, i) == Type::mask ? "a mask (a comparison)" : "a number";
            throw Error(Code::usage, "scalar",
                        std::string(name(kind)) + ": operand " + std::to_string(i) + " must be " + need);
        }
        node.operands[i] = operands[i].node();
    }
    if (Expr simpler = simplify(kind, a, b, c); !simpler.is_null()) return simpler;
    return Expr(intern(node));
}

std::vector<const Node*> topological_order(Expr root) {
    std::vector<const Node*> order;
    std::unordered_set<const Node*> done;
    std::vector<const Node*> stack{root.node()};
    while (!stack.empty()) {
        const Node* node = stack.back();
        bool ready = true;
        for (int i = operand_count(node->kind); i-- > 0;) {
            if (!done.contains(node->operands[i])) {
                stack.push_back(node->operands[i]);
                ready = false;
            }
        }
        if (!ready) continue;
        stack.pop_back();
        if (done.insert(node).second) order.push_back(node);
    }
    return order;
}

namespace {

Expr same_kind(const Node& node, const Expr* operands) {
    if (operand_count(node.kind) == 0) return Expr(&node);
    return make(node.kind, operands[0], operands[1], operands[2], node.index);
}

}  // namespace

Expr rebuild(Expr root, Expr (*replace)(const Node& node, const Expr* operands)) {
    std::unordered_map<const Node*, Expr> rebuilt;
    for (const Node* node : topological_order(root)) {
        Expr operands[3];
        for (int i = 0; i < operand_count(node->kind); ++i) operands[i] = rebuilt.at(node->operands[i]);
        const Expr replaced = replace(*node, operands);
        rebuilt[node] = replaced.is_null() ? same_kind(*node, operands) : replaced;
    }
    return rebuilt.at(root.node());
}

}  // namespace tenon::scalar
