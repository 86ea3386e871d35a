// One entry of the op table: everything that is known about an op, in one place.
// See docs/adding-an-op.md for a walk through a real one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/core/tensor.h"
#include "tenon/ops/attributes.h"
#include "tenon/ops/provider.h"
#include "tenon/scalar/expr.h"

namespace tenon::ops {

class Op;
using scalar::Expr;

// One call, as rules, kernels, derivatives, traces and costs see it. Lives on the caller's stack.
struct Call {
    const Op& op;
    std::span<const Tensor> inputs;
    const Attributes& attributes;

    const Tensor& input(int i) const { return inputs[static_cast<size_t>(i)]; }
    // An optional input that was left out is undefined.
    bool has(int i) const { return static_cast<size_t>(i) < inputs.size() && input(i).defined(); }
    // By slot: the n-th among the schema's int, bool, dtype and device attributes.
    int64_t integer(int slot) const { return attributes.integers[static_cast<size_t>(slot)]; }
    bool boolean(int slot) const { return integer(slot) != 0; }
    DType dtype(int slot) const { return static_cast<DType>(integer(slot)); }
    double real(int slot) const { return attributes.reals[static_cast<size_t>(slot)]; }
    const Dims& dims() const { return attributes.dims; }
    Device device() const;
};

inline constexpr int max_outputs = 4;

// What a rule says of the outputs.
struct Results {
    struct Result {
        Shape shape;
        DType dtype = DType::f32;
    };
    std::array<Result, max_outputs> results;
    int count = 0;
    void add(const Shape& shape, DType dtype) { results[static_cast<size_t>(count++)] = {shape, dtype}; }
};

// What a derivative sees. Inputs and outputs are defined only where the entry saves them.
struct Backward {
    const Op& op;
    std::span<const Tensor> inputs;
    std::span<const Tensor> outputs;
    std::span<const Tensor> grads;  // of the outputs; undefined where nothing flowed back
    std::span<const Shape> input_shapes;
    std::span<const DType> input_dtypes;
    const Attributes& attributes;
    std::span<const uint8_t> needed;  // by input

    const Tensor& input(int i) const { return inputs[static_cast<size_t>(i)]; }
    const Tensor& output(int i = 0) const { return outputs[static_cast<size_t>(i)]; }
    const Tensor& grad(int i = 0) const { return grads[static_cast<size_t>(i)]; }
    bool has_grad(int i) const { return grads[static_cast<size_t>(i)].defined(); }
    bool needs(int i) const { return needed[static_cast<size_t>(i)] != 0; }
    const Shape& shape(int i) const { return input_shapes[static_cast<size_t>(i)]; }
    int count() const { return static_cast<int>(input_shapes.size()); }
    int64_t integer(int slot) const { return attributes.integers[static_cast<size_t>(slot)]; }
    bool boolean(int slot) const { return integer(slot) != 0; }
    DType dtype(int slot) const { return static_cast<DType>(integer(slot)); }
    double real(int slot) const { return attributes.reals[static_cast<size_t>(slot)]; }
    const Dims& dims() const { return attributes.dims; }
};

struct Cost {
    double flops = 0;
    double bytes = 0;
    // Memory the kernel takes from the allocator while it runs.
    int64_t workspace = 0;
};

using Rule = void (*)(const Call&, Results&);
using ViewRule = Tensor (*)(const Call&);
// Ordinary ops over the inputs; the outputs in schema order.
using Composite = std::vector<Tensor> (*)(const Call&);
// Writes the gradient of each input that `needs` asks for; shapes may still be broadcast ones (the engine reduces them
// to the input's shape) and dtypes promoted ones.
using Derivative = void (*)(const Backward&, std::span<Tensor> input_grads);
using CostRule = Cost (*)(const Call&, const Results&);

// Which dtype an elementwise op gives from its promoted inputs.
enum class ElementwiseResult { promoted, floating, boolean };
// What recompute may do with an op's outputs.
enum class Recompute { cheap, costly };

// Sample inputs, as data: the generated tests make tensors of them in every dtype and layout.
enum class Fill {
    normal,    // standard normal
    positive,  // in [0.5, 2]
    unit,      // in (-0.9, 0.9)
    distinct,  // a shuffled arithmetic sequence: no ties, nothing near 0
    integers,  // i64 in [low, high)
    boolean,
    none  // an optional input left out
};
struct SampleInput {
    Fill fill = Fill::normal;
    Shape shape;
    int64_t low = 0;
    int64_t high = 0;
};
SampleInput normal(const Shape& shape);
SampleInput positive(const Shape& shape);
SampleInput unit(const Shape& shape);
SampleInput distinct(const Shape& shape);
SampleInput integers(const Shape& shape, int64_t low, int64_t high);
SampleInput boolean(const Shape& shape);
SampleInput none();

using AttributeValue = std::variant<int64_t, int, double, bool, Dims, DType>;
using NamedAttributes = std::vector<std::pair<std::string_view, AttributeValue>>;

struct Sample {
    std::vector<SampleInput> inputs;
    Attributes attributes;
};
struct ErrorSample {
    std::vector<SampleInput> inputs;
    Attributes attributes;
    std::string message;  // a part of what the error must say
};

class Op {
public:
    explicit Op(std::string_view schema);
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;

    // --- what an entry states -------------------------------------------------------------------------------------
    Op& doc(std::string_view text);
    // Elementwise math over the inputs, then the real attributes, in schema order.
    template <typename F>
    Op& math(F f);
    Op& result(ElementwiseResult kind);
    // The derivative of elementwise math with respect to an input, written beside it; the symbolic one is the default.
    // Sees the same arguments as the math.
    template <typename F>
    Op& slope(int input, F f);
    Op& rule(Rule function);
    Op& view(ViewRule function);
    Op& composite(Composite function);
    // `saves` names the inputs and outputs that the derivative reads.
    Op& derivative(std::initializer_list<std::string_view> saves, Derivative function);
    Op& no_derivative(std::string_view why);
    Op& cost(CostRule function);
    // What dropping and recomputing activations will ask; nothing reads it yet.
    Op& recompute(Recompute kind);
    // f32 is what autocast will give this op even where 16-bit is asked for; nothing reads it yet.
    Op& keeps_f32();
    Op& samples(std::initializer_list<Shape> shapes, Fill fill = Fill::normal);
    Op& sample(std::vector<SampleInput> inputs, const NamedAttributes& attributes = {});
    Op& error(std::vector<SampleInput> inputs, const NamedAttributes& attributes, std::string_view message);
    // The same function elsewhere; parity tests compare with it.
    Op& like(std::string_view elsewhere);
    // The gradient samples need no central differences: why (a random op, a step function).
    Op& skip_gradient_check(std::string_view why);

    // --- what others read ------------------------------------------------------------------------------------------
    const Schema& schema() const { return schema_; }
    const char* name() const { return schema_.name.c_str(); }
    const std::string& doc_text() const { return doc_; }
    const std::string& like_text() const { return like_; }
    const std::string& why_no_derivative() const { return why_no_derivative_; }
    const std::string& why_no_gradient_check() const { return why_no_gradient_check_; }
    bool is_elementwise() const { return static_cast<bool>(math_); }
    ElementwiseResult result_kind() const { return result_; }
    // The math over input and attribute nodes; throws where there is none.
    Expr expression() const;
    Rule shape_rule() const { return rule_; }
    ViewRule view_rule() const { return view_; }
    Composite composite_rule() const { return composite_; }
    Derivative derivative_rule() const { return derivative_; }
    CostRule cost_rule() const { return cost_; }
    Recompute recompute_kind() const { return recompute_; }
    bool is_keeping_f32() const { return keeps_f32_; }
    bool is_differentiable() const { return why_no_derivative_.empty(); }
    uint64_t mutated_mask() const { return mutated_mask_; }
    // Bits of the inputs and outputs that the derivative reads.
    uint64_t saved_inputs() const { return saved_inputs_; }
    uint64_t saved_outputs() const { return saved_outputs_; }
    const std::vector<Sample>& sample_list() const { return samples_; }
    const std::vector<ErrorSample>& error_list() const { return errors_; }
    // Position of the device among the integer attributes, or -1.
    int device_slot() const { return device_slot_; }
    // Elementwise only: bits of the inputs that its math reads.
    uint64_t inputs_read() const;
    // Elementwise only: the op (inputs…, grad) -> grad · ∂math/∂input, made on first use.
    const Op& gradient(int input) const;

    // The providers of a device, best first. Filled at start-up by the layers that have kernels.
    Providers& providers(Device device) const { return providers_[static_cast<size_t>(device)]; }

    // Attributes from names; the schema's defaults where a name is left out.
    Attributes attributes(const NamedAttributes& named) const;

    // Throws unless the entry is whole: a rule, a derivative or a reason for none, samples, a doc.
    void check_complete() const;

private:
    using Math = std::function<Expr(std::span<const Expr>)>;
    template <typename F, size_t... I>
    static Math spread(F f, std::index_sequence<I...>);

    int math_arguments() const;
    void set_math(Math math, int arguments);
    std::vector<Expr> math_inputs() const;

    Schema schema_;
    std::string doc_;
    std::string like_;
    Math math_;
    std::array<Math, 4> slopes_;
    ElementwiseResult result_ = ElementwiseResult::promoted;
    Rule rule_ = nullptr;
    ViewRule view_ = nullptr;
    Composite composite_ = nullptr;
    Derivative derivative_ = nullptr;
    CostRule cost_ = nullptr;
    Recompute recompute_ = Recompute::costly;
    bool keeps_f32_ = false;
    std::string why_no_derivative_;
    std::string why_no_gradient_check_;
    uint64_t mutated_mask_ = 0;
    uint64_t saved_inputs_ = 0;
    uint64_t saved_outputs_ = 0;
    int device_slot_ = -1;
    std::vector<Sample> samples_;
    std::vector<ErrorSample> errors_;
    mutable std::array<Providers, device_count> providers_;
    mutable std::mutex gradient_mutex_;
    mutable std::array<std::unique_ptr<Op>, 4> gradients_;
};

}  // namespace tenon::ops

#include "tenon/ops/op_math.h"
