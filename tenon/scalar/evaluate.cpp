#include "tenon/scalar/evaluate.h"

#include <bit>
#include <string>
#include <unordered_map>

#include "tenon/base/error.h"
#include "tenon/scalar/integer.h"
#include "tenon/scalar/polynomials.h"
#include "tenon/scalar/single.h"

namespace tenon::scalar {
namespace {

// What comparisons and choices do in any arithmetic. A mask is the number 0 or 1.
template <class Number>
bool apply_choice(Kind kind, Number a, Number b, Number c, Number& result) {
    switch (kind) {
        case Kind::less:
            result = a < b ? 1 : 0;
            return true;
        case Kind::less_equal:
            result = a <= b ? 1 : 0;
            return true;
        case Kind::equal:
            result = a == b ? 1 : 0;
            return true;
        case Kind::logical_and:
            result = a != 0 && b != 0 ? 1 : 0;
            return true;
        case Kind::logical_or:
            result = a != 0 || b != 0 ? 1 : 0;
            return true;
        case Kind::logical_not:
            result = a == 0 ? 1 : 0;
            return true;
        case Kind::select:
            result = a != 0 ? b : c;
            return true;
        case Kind::min:
            result = a < b ? a : b;
            return true;
        case Kind::max:
            result = b < a ? a : b;
            return true;
        default:
            return false;
    }
}

Single apply_single(Kind kind, int64_t index, Single a, Single b, Single c) {
    switch (kind) {
        case Kind::add:
            return a + b;
        case Kind::sub:
            return a - b;
        case Kind::mul:
            return a * b;
        case Kind::div:
            return a / b;
        case Kind::neg:
            return -a;
        case Kind::fma:
            return fma(a, b, c);
        case Kind::sqrt:
            return sqrt(a);
        case Kind::abs:
            return abs(a);
        case Kind::floor:
            return floor(a);
        case Kind::round:
            return round(a);
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
        case Kind::ldexp:
            return ldexp(a, b);
        case Kind::exponent:
            return exponent(a);
        case Kind::call:
            return call_where(a.value != 0, static_cast<Function>(index), b, c);
        default:
            return {};
    }
}

[[noreturn]] void no_form(Kind kind, const char* type) {
    throw Error(Code::usage, "scalar", std::string(name(kind)) + " has no " + type + " form");
}

double apply_double(Kind kind, double a, double b, double c, const Functions64& f) {
    switch (kind) {
        case Kind::add:
            return a + b;
        case Kind::sub:
            return a - b;
        case Kind::mul:
            return a * b;
        case Kind::div:
            return a / b;
        case Kind::neg:
            return -a;
        case Kind::fma:
            return f.fma(a, b, c);
        case Kind::sqrt:
            return square_root(a);
        case Kind::abs:
            return std::bit_cast<double>(std::bit_cast<uint64_t>(a) & ~(uint64_t{1} << 63));
        case Kind::floor:
            return floor_of(a);
        case Kind::round:
            return round_to_even(a);
        case Kind::exp:
            return f.exp(a);
        case Kind::log:
            return f.log(a);
        case Kind::sin:
            return f.sin(a);
        case Kind::cos:
            return f.cos(a);
        case Kind::tanh:
            return f.tanh(a);
        case Kind::erf:
            return f.erf(a);
        case Kind::sigmoid:
            return 1 / (1 + f.exp(-a));
        case Kind::pow:
            return f.pow(a, b);
        default:
            no_form(kind, "f64");
    }
}

int64_t apply_integer(Kind kind, int64_t a, int64_t b, int64_t c) {
    switch (kind) {
        case Kind::add:
            return integer_add(a, b);
        case Kind::sub:
            return integer_sub(a, b);
        case Kind::mul:
            return integer_mul(a, b);
        case Kind::neg:
            return integer_neg(a);
        case Kind::fma:
            return integer_fma(a, b, c);
        case Kind::abs:
            return integer_abs(a);
        case Kind::floor:
        case Kind::round:
            return a;
        case Kind::pow:
            return integer_pow(a, b);
        default:
            no_form(kind, "integer");
    }
}

}  // namespace

Evaluator::Evaluator(Expr root) {
    std::unordered_map<const Node*, int> position;
    for (const Node* node : topological_order(root)) {
        Step step{node->kind, {0, 0, 0}, node->index, node->constant};
        for (int i = 0; i < operand_count(node->kind); ++i) step.operands[i] = position.at(node->operands[i]);
        position[node] = static_cast<int>(steps_.size());
        steps_.push_back(step);
    }
}

template <class Number, class Apply>
Number Evaluator::run(const Number* inputs, const Number* attributes, Apply apply) const {
    // Kept between calls: a reference provider asks once per element.
    static thread_local std::vector<Number> values;
    values.resize(steps_.size());
    for (size_t i = 0; i < steps_.size(); ++i) {
        const Step& step = steps_[i];
        const Number a = values[static_cast<size_t>(step.operands[0])],
                     b = values[static_cast<size_t>(step.operands[1])],
                     c = values[static_cast<size_t>(step.operands[2])];
        Number& result = values[i];
        if (step.kind == Kind::input) {
            result = inputs[step.index];
        } else if (step.kind == Kind::attribute) {
            result = attributes[step.index];
        } else if (step.kind == Kind::constant) {
            result = static_cast<Number>(step.constant);
        } else if (!apply_choice(step.kind, a, b, c, result)) {
            result = apply(step, a, b, c);
        }
    }
    return values.back();
}

float Evaluator::f32(const float* inputs, const float* attributes) const {
    return run(inputs, attributes, [](const Step& step, float a, float b, float c) {
        return apply_single(step.kind, step.index, Single::of(a), Single::of(b), Single::of(c)).value;
    });
}

double Evaluator::f64(const double* inputs, const double* attributes, const Functions64& functions) const {
    return run(inputs, attributes, [&functions](const Step& step, double a, double b, double c) {
        return apply_double(step.kind, a, b, c, functions);
    });
}

int64_t Evaluator::i64(const int64_t* inputs, const int64_t* attributes) const {
    return run(inputs, attributes,
               [](const Step& step, int64_t a, int64_t b, int64_t c) { return apply_integer(step.kind, a, b, c); });
}

}  // namespace tenon::scalar
