#include "tenon/scalar/print.h"

#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "tenon/base/error.h"
#include "tenon/scalar/expand.h"

namespace tenon::scalar {
namespace {

std::string hexadecimal(double value) {
    char text[48];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
}

// Constants carry exact bits: hexadecimal digits of the value rounded to the type.
std::string constant(double value, Target target) {
    if (target == Target::i64) {
        if (value == static_cast<double>(static_cast<int64_t>(value)))
            return "INT64_C(" + std::to_string(static_cast<int64_t>(value)) + ")";
        throw Error(Code::failed, "scalar", "the constant " + std::to_string(value) + " has no integer form");
    }
    const bool f32 = target == Target::f32_vector;
    std::string text;
    if (std::isnan(value)) {
        text = f32 ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
    } else if (std::isinf(value)) {
        text = std::string(value < 0 ? "-" : "") + (f32 ? "__builtin_inff()" : "__builtin_inf()");
    } else {
        text = f32 ? hexadecimal(static_cast<float>(value)) + "f" : hexadecimal(value);
    }
    return f32 ? "broadcast(" + text + ")" : text;
}

std::string call_text(const char* function, const std::string* a, int count) {
    std::string text = std::string(function) + "(";
    for (int i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + a[i];
    return text + ")";
}

std::string vector_text(const Node& node, const std::string* a) {
    const int count = operand_count(node.kind);
    switch (node.kind) {
        case Kind::neg:
            return call_text("negate", a, 1);
        case Kind::min:
            return call_text("lesser_or_second", a, 2);
        case Kind::max:
            return call_text("greater_or_second", a, 2);
        case Kind::round:
            return call_text("round_to_nearest_even", a, 1);
        case Kind::logical_and:
            return call_text("mask_and", a, 2);
        case Kind::logical_or:
            return call_text("mask_or", a, 2);
        case Kind::logical_not:
            return call_text("mask_not", a, 1);
        case Kind::call: {
            const bool turns = node.index == static_cast<int64_t>(Function::quarter_turns);
            const char* function = turns ? "tenon::scalar::quarter_turns" : "tenon::scalar::quarter_turn_remainder";
            return "call_where(" + a[0] + ", " + function + ", " + a[1] + ", " + a[2] + ")";
        }
        default:
            return call_text(name(node.kind), a, count);
    }
}

std::string infix(const std::string* a, const char* op) {
    return a[0] + " " + op + " " + a[1];
}

// What f64 and i64 share: C's operators.
std::string scalar_text(const Node& node, const std::string* a, Target target) {
    switch (node.kind) {
        case Kind::less:
            return infix(a, "<");
        case Kind::less_equal:
            return infix(a, "<=");
        case Kind::equal:
            // An integer always equals itself, and a compiler warns about asking.
            return target == Target::i64 && a[0] == a[1] ? "true" : infix(a, "==");
        case Kind::logical_and:
            return infix(a, "&");
        case Kind::logical_or:
            return infix(a, "|");
        case Kind::logical_not:
            return "!" + a[0];
        case Kind::select:
            return a[0] + " ? " + a[1] + " : " + a[2];
        case Kind::min:
            return a[0] + " < " + a[1] + " ? " + a[0] + " : " + a[1];
        case Kind::max:
            return a[1] + " < " + a[0] + " ? " + a[0] + " : " + a[1];
        default:
            break;
    }
    if (target == Target::i64) {
        switch (node.kind) {
            case Kind::floor:
            case Kind::round:
                return a[0];
            default:
                return call_text((std::string("integer_") + name(node.kind)).c_str(), a, operand_count(node.kind));
        }
    }
    switch (node.kind) {
        case Kind::add:
            return infix(a, "+");
        case Kind::sub:
            return infix(a, "-");
        case Kind::mul:
            return infix(a, "*");
        case Kind::div:
            return infix(a, "/");
        case Kind::neg:
            return "-" + a[0];
        case Kind::sqrt:
            return "__builtin_sqrt(" + a[0] + ")";
        case Kind::abs:
            return "__builtin_fabs(" + a[0] + ")";
        default:
            return call_text((std::string("f64_") + name(node.kind)).c_str(), a, operand_count(node.kind));
    }
}

struct Body {
    std::string statements;
    std::string result;
};

// One statement per node, in order: a reader can follow it, and the compiler sees it as it is.
Body body(Expr root, Target target, const std::string& indent) {
    const bool vector = target == Target::f32_vector;
    const char* real_type = vector ? "Vec" : (target == Target::f64 ? "double" : "int64_t");
    const char* mask_type = vector ? "Mask" : "bool";
    std::unordered_map<const Node*, std::string> names;
    Body result;
    int next = 0;
    for (const Node* node : topological_order(root)) {
        std::string& text = names[node];
        if (node->kind == Kind::input) {
            text = "x" + std::to_string(node->index);
        } else if (node->kind == Kind::attribute) {
            text = "a" + std::to_string(node->index);
        } else if (node->kind == Kind::constant) {
            text = constant(node->constant, target);
        } else {
            std::string operands[3];
            for (int i = 0; i < operand_count(node->kind); ++i) operands[i] = names.at(node->operands[i]);
            text = "t" + std::to_string(next++);
            const std::string value = vector ? vector_text(*node, operands) : scalar_text(*node, operands, target);
            result.statements += indent + "const " + (node->type == Type::mask ? mask_type : real_type) + " " + text +
                                 " = " + value + ";\n";
        }
    }
    result.result = names.at(root.node());
    return result;
}

// Which of the inputs and attributes the expression reads: others get no parameter, so that nothing is unused.
std::vector<bool> reads(Expr root, Kind kind, int count) {
    std::vector<bool> result(static_cast<size_t>(count), false);
    for (const Node* node : topological_order(root)) {
        if (node->kind == kind) result[static_cast<size_t>(node->index)] = true;
    }
    return result;
}

std::string join(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

std::string vector_kernel(const std::string& name, Expr root, int inputs, int attributes) {
    const Body b = body(root, Target::f32_vector, "    ");
    std::vector<std::string> parameters, whole, partial;
    std::string head;
    const std::vector<bool> reads_input = reads(root, Kind::input, inputs);
    const std::vector<bool> reads_attribute = reads(root, Kind::attribute, attributes);
    for (int i = 0; i < inputs; ++i) {
        if (!reads_input[static_cast<size_t>(i)]) continue;
        const std::string n = std::to_string(i);
        parameters.push_back("Vec x" + n);
        whole.push_back("load(in" + n + " + i)");
        partial.push_back("load_partial(in" + n + " + i, rest)");
        head += "    const float* in" + n + " = static_cast<const float*>(in[" + n + "]);\n";
    }
    for (int i = 0; i < attributes; ++i) {
        if (!reads_attribute[static_cast<size_t>(i)]) continue;
        const std::string n = std::to_string(i);
        parameters.push_back("Vec a" + n);
        whole.push_back("a" + n);
        partial.push_back("a" + n);
        head += "    const Vec a" + n + " = broadcast(*static_cast<const float*>(in[" + std::to_string(inputs + i) +
                "]));\n";
    }
    if (head.empty()) head = "    (void)in;\n";
    const bool mask = root.is_mask();
    const std::string out = mask ? "uint8_t" : "float", store = mask ? "store_mask" : "store";
    std::string text = std::string("TENON_INLINE ") + (mask ? "Mask " : "Vec ") + name + "_lanes(" + join(parameters) +
                       ") {\n" + b.statements + "    return " + b.result + ";\n}\n";
    text += "static void " + name + "(const void* const* in, void* out, int64_t n) {\n" + head;
    text += "    " + out + "* y = static_cast<" + out + "*>(out);\n    int64_t i = 0;\n";
    text += "    for (; i + 16 <= n; i += 16) " + store + "(y + i, " + name + "_lanes(" + join(whole) + "));\n";
    text += "    const int rest = static_cast<int>(n - i);\n";
    text += "    if (rest > 0) " + store + "_partial(y + i, " + name + "_lanes(" + join(partial) + "), rest);\n}\n";
    return text;
}

std::string scalar_kernel(const std::string& name, Expr root, int inputs, int attributes, Target target) {
    const Body b = body(root, target, "        ");
    const std::string type = target == Target::f64 ? "double" : "int64_t";
    const std::string out = root.is_mask() ? "uint8_t" : type;
    std::string head, loads;
    const std::vector<bool> reads_input = reads(root, Kind::input, inputs);
    const std::vector<bool> reads_attribute = reads(root, Kind::attribute, attributes);
    for (int i = 0; i < inputs; ++i) {
        if (!reads_input[static_cast<size_t>(i)]) continue;
        const std::string n = std::to_string(i);
        head += "    const " + type + "* in" + n + " = static_cast<const " + type + "*>(in[" + n + "]);\n";
        loads += "        const " + type + " x" + n + " = in" + n + "[i];\n";
    }
    for (int i = 0; i < attributes; ++i) {
        if (!reads_attribute[static_cast<size_t>(i)]) continue;
        const std::string n = std::to_string(i);
        head += "    const " + type + " a" + n + " = *static_cast<const " + type + "*>(in[" +
                std::to_string(inputs + i) + "]);\n";
    }
    if (head.empty()) head = "    (void)in;\n";
    return "static void " + name + "(const void* const* in, void* out, int64_t n) {\n" + head + "    " + out +
           "* y = static_cast<" + out + "*>(out);\n    for (int64_t i = 0; i < n; ++i) {\n" + loads + b.statements +
           "        y[i] = " + b.result + ";\n    }\n}\n";
}

bool has_integer_form(const Node& node) {
    switch (node.kind) {
        case Kind::constant:
            return node.constant == std::floor(node.constant) && std::fabs(node.constant) < 0x1p62;
        case Kind::div:
        case Kind::sqrt:
        case Kind::ldexp:
        case Kind::exponent:
        case Kind::call:
            return false;
        default:
            return !is_function(node.kind) || node.kind == Kind::pow;
    }
}

}  // namespace

bool can_print(Expr root, Target target) {
    if (target == Target::f32_vector) return true;
    for (const Node* node : topological_order(root)) {
        const bool integers_only = node->kind == Kind::call || node->kind == Kind::exponent;
        if (target == Target::f64 ? integers_only : !has_integer_form(*node)) return false;
    }
    return true;
}

std::string print_kernel(const std::string& name, Expr root, int inputs, int attributes, Target target) {
    if (target == Target::f32_vector) return vector_kernel(name, root, inputs, attributes);
    return scalar_kernel(name, root, inputs, attributes, target);
}

std::string print_vector_function(const std::string& name, Expr root, int inputs) {
    const Body b = body(expand_functions(root), Target::f32_vector, "    ");
    std::vector<std::string> parameters;
    for (int i = 0; i < inputs; ++i) parameters.push_back("Vec x" + std::to_string(i));
    return "TENON_INLINE Vec " + name + "(" + join(parameters) + ") {\n" + b.statements + "    return " + b.result +
           ";\n}\n";
}

}  // namespace tenon::scalar
