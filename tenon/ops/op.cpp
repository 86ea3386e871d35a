#include "tenon/ops/op.h"

#include <charconv>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/ops/dispatch.h"
#include "tenon/scalar/derivative.h"

namespace tenon::ops {

SampleInput normal(const Shape& shape) {
    return {Fill::normal, shape, 0, 0};
}
SampleInput positive(const Shape& shape) {
    return {Fill::positive, shape, 0, 0};
}
SampleInput unit(const Shape& shape) {
    return {Fill::unit, shape, 0, 0};
}
SampleInput distinct(const Shape& shape) {
    return {Fill::distinct, shape, 0, 0};
}
SampleInput integers(const Shape& shape, int64_t low, int64_t high) {
    return {Fill::integers, shape, low, high};
}
SampleInput boolean(const Shape& shape) {
    return {Fill::boolean, shape, 0, 0};
}
SampleInput none() {
    return {Fill::none, {}, 0, 0};
}

std::string_view name_of(Tier tier) noexcept {
    constexpr std::string_view names[] = {"D0", "D1", "D2", "D3", "D4"};
    return names[static_cast<size_t>(tier)];
}

std::string_view name_of(Reason reason) noexcept {
    constexpr std::string_view names[] = {"ok", "layout", "dtype", "shape"};
    return names[static_cast<size_t>(reason)];
}

Device Call::device() const {
    if (op.device_slot() >= 0) return static_cast<Device>(integer(op.device_slot()));
    for (const Tensor& tensor : inputs) {
        if (tensor.defined() && !tensor.get().weak) return tensor.device();
    }
    return inputs.empty() || !inputs[0].defined() ? default_device() : inputs[0].device();
}

Op::Op(std::string_view schema) : schema_(parse_schema(schema)) {
    for (size_t i = 0; i < schema_.inputs.size(); ++i) {
        if (schema_.inputs[i].mutated) mutated_mask_ |= uint64_t{1} << i;
    }
    for (const AttributeSchema& attribute : schema_.attributes) {
        if (attribute.type == AttributeType::device) device_slot_ = attribute.slot;
    }
}

Op& Op::doc(std::string_view text) {
    doc_ = text;
    return *this;
}

Op& Op::result(ElementwiseResult kind) {
    result_ = kind;
    return *this;
}

Op& Op::rule(Rule function) {
    rule_ = function;
    return *this;
}

Op& Op::view(ViewRule function) {
    view_ = function;
    return *this;
}

Op& Op::composite(Composite function) {
    composite_ = function;
    return *this;
}

Op& Op::derivative(std::initializer_list<std::string_view> saves, Derivative function) {
    for (const std::string_view saved : saves) {
        // Inputs first: an input may be called what outputs are called by default.
        const int input = schema_.input_index(saved);
        const int output = schema_.output_index(saved);
        if (input < 0 && output < 0) {
            throw Error(Code::failed, name(),
                        "saves \"" + std::string(saved) + "\", which is no input or output of it");
        }
        (input >= 0 ? saved_inputs_ : saved_outputs_) |= uint64_t{1} << (input >= 0 ? input : output);
    }
    derivative_ = function;
    return *this;
}

Op& Op::no_derivative(std::string_view why) {
    why_no_derivative_ = why;
    return *this;
}

Op& Op::cost(CostRule function) {
    cost_ = function;
    return *this;
}

Op& Op::recompute(Recompute kind) {
    recompute_ = kind;
    return *this;
}

Op& Op::keeps_f32() {
    keeps_f32_ = true;
    return *this;
}

Op& Op::samples(std::initializer_list<Shape> shapes, Fill fill) {
    for (const Shape& shape : shapes) {
        samples_.push_back(
            {std::vector<SampleInput>(schema_.inputs.size(), SampleInput{fill, shape, 0, 0}), attributes({})});
    }
    return *this;
}

Op& Op::sample(std::vector<SampleInput> inputs, const NamedAttributes& named) {
    samples_.push_back({std::move(inputs), attributes(named)});
    return *this;
}

Op& Op::error(std::vector<SampleInput> inputs, const NamedAttributes& named, std::string_view message) {
    errors_.push_back({std::move(inputs), attributes(named), std::string(message)});
    return *this;
}

Op& Op::like(std::string_view elsewhere) {
    like_ = elsewhere;
    return *this;
}

Op& Op::skip_gradient_check(std::string_view why) {
    why_no_gradient_check_ = why;
    return *this;
}

int Op::math_arguments() const {
    int arguments = static_cast<int>(schema_.inputs.size());
    for (const AttributeSchema& attribute : schema_.attributes) {
        if (attribute.type == AttributeType::real) ++arguments;
    }
    return arguments;
}

void Op::set_math(Math math, int arguments) {
    if (arguments != math_arguments()) {
        throw Error(Code::failed, name(),
                    "its math takes " + std::to_string(arguments) + " arguments, its schema gives " +
                        std::to_string(math_arguments()) + " inputs and reals");
    }
    math_ = std::move(math);
}

std::vector<Expr> Op::math_inputs() const {
    std::vector<Expr> arguments;
    for (size_t i = 0; i < schema_.inputs.size(); ++i) arguments.push_back(scalar::input(static_cast<int>(i)));
    for (int i = static_cast<int>(arguments.size()), slot = 0; i < math_arguments(); ++i, ++slot) {
        arguments.push_back(scalar::attribute(slot));
    }
    return arguments;
}

Expr Op::expression() const {
    if (!math_) throw Error(Code::failed, name(), "has no elementwise math");
    return math_(math_inputs());
}

uint64_t Op::inputs_read() const {
    uint64_t mask = 0;
    for (const scalar::Node* node : scalar::topological_order(expression())) {
        if (node->kind == scalar::Kind::input) mask |= uint64_t{1} << node->index;
    }
    return mask;
}

namespace {

// out_grad * slope, where the slope chooses, by choosing: a zero slope is a zero that meets neither an infinity nor a
// sign.
Expr weighted(Expr out_grad, Expr slope) {
    if (slope->kind == scalar::Kind::constant && slope->constant == 0) return 0.0;
    if (slope->kind != scalar::Kind::select) return out_grad * slope;
    const auto& [mask, yes, no] = slope->operands;
    return scalar::select(Expr(mask), weighted(out_grad, Expr(yes)), weighted(out_grad, Expr(no)));
}

}  // namespace

const Op& Op::gradient(int input) const {
    const std::lock_guard lock(gradient_mutex_);
    std::unique_ptr<Op>& made = gradients_[static_cast<size_t>(input)];
    if (made) return *made;

    std::string schema = schema_.name + "_grad" + std::to_string(input) + "(";
    for (const InputSchema& each : schema_.inputs) schema += each.name + ", ";
    schema += "out_grad";
    for (const AttributeSchema& each : schema_.attributes) {
        if (each.type != AttributeType::real) throw Error(Code::failed, name(), "elementwise math takes only reals");
        schema += ", " + each.name + ": real";
    }
    made = std::make_unique<Op>(schema + ")");

    const std::vector<Expr> arguments = math_inputs();
    const Math& written = slopes_[static_cast<size_t>(input)];
    const Expr slope = written ? written(arguments) : scalar::derivative(math_(arguments), input);
    const Expr out_grad = scalar::input(static_cast<int>(schema_.inputs.size()));
    const Expr gradient = weighted(out_grad, slope);
    made->math_ = [gradient](std::span<const Expr>) { return gradient; };
    made->doc_ = "Gradient of " + schema_.name + " with respect to " + schema_.inputs[static_cast<size_t>(input)].name;
    return *made;
}

namespace {

// Not std::stod, which reads by the process's locale.
double number_in(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
    throw Error(Code::failed, "ops", "\"" + text + "\" is no number");
}

}  // namespace

Attributes Op::attributes(const NamedAttributes& named) const {
    Attributes attributes;
    const auto set = [&](const AttributeSchema& attribute, const AttributeValue& value) {
        const auto slot = static_cast<size_t>(attribute.slot);
        if (attribute.type == AttributeType::dims) {
            attributes.dims = std::get<Dims>(value);
        } else if (attribute.type == AttributeType::real) {
            attributes.reals[slot] =
                std::holds_alternative<int>(value) ? std::get<int>(value) : std::get<double>(value);
        } else if (const auto* dtype = std::get_if<DType>(&value)) {
            attributes.integers[slot] = static_cast<int64_t>(*dtype);
        } else if (const auto* flag = std::get_if<bool>(&value)) {
            attributes.integers[slot] = *flag ? 1 : 0;
        } else if (const auto* small = std::get_if<int>(&value)) {
            attributes.integers[slot] = *small;
        } else {
            attributes.integers[slot] = std::get<int64_t>(value);
        }
    };
    for (const AttributeSchema& attribute : schema_.attributes) {
        if (!attribute.fallback) continue;
        const std::string& text = *attribute.fallback;
        if (attribute.type == AttributeType::boolean) {
            set(attribute, text == "true");
        } else if (attribute.type == AttributeType::real) {
            set(attribute, number_in(text));
        } else if (attribute.type == AttributeType::integer) {
            set(attribute, int64_t{std::stoll(text)});
        } else if (attribute.type == AttributeType::dtype) {
            set(attribute, dtype_from(text));
        }
    }
    for (const auto& [name, value] : named) set(schema_.attribute(name), value);
    return attributes;
}

void Op::check_complete() const {
    const auto missing = [&](const std::string& what) {
        throw Error(Code::failed, name(), "its entry has no " + what);
    };
    if (doc_.empty()) missing("doc");
    if (!math_ && rule_ == nullptr && view_ == nullptr && composite_ == nullptr)
        missing("math, rule, view or composite");
    if (!math_ && composite_ == nullptr && derivative_ == nullptr && why_no_derivative_.empty()) {
        missing("derivative (or no_derivative with the reason)");
    }
    if (samples_.empty()) missing("samples: no generated test would try it");
}

}  // namespace tenon::ops
