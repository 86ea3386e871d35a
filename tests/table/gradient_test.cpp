// Every differentiable op against central differences in f64, over every layout: first gradients, then gradients of
// gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tenon/autograd/autograd.h"
#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/operators.h"
#include "tests/table/samples.h"

namespace tenon::tests {

namespace {

// A fixed weighting of all floating outputs: one number whose gradient sees every output element.
Tensor weighted(const std::vector<Tensor>& outputs) {
    Tensor total = ops::zeros({}, DType::f64);
    uint64_t seed = 1000;
    for (const Tensor& output : outputs) {
        ++seed;
        if (!output.defined() || !is_floating(output.dtype()) || output.numel() == 0) continue;
        const Tensor weights = make_input(ops::normal(output.shape()), DType::f64, Layout::contiguous, seed);
        total = total + ops::sum(ops::cast(output, DType::f64) * weights);
    }
    return total;
}

// Outputs that a gradient flows through.
std::vector<Tensor> differentiable(const std::vector<Tensor>& outputs) {
    std::vector<Tensor> chosen;
    for (const Tensor& output : outputs) {
        if (output.defined() && output.requires_grad()) chosen.push_back(output);
    }
    return chosen;
}

bool is_floating_input(const TableCall& call, size_t i) {
    const ops::Fill fill = call.sample->inputs[i].fill;
    return fill != ops::Fill::integers && fill != ops::Fill::boolean && fill != ops::Fill::none;
}

// A leaf with this input's values and strides: a gradient with respect to the view itself.
std::vector<Tensor> leaves_of(const TableCall& call, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> leaves;
    for (size_t i = 0; i < inputs.size(); ++i) {
        leaves.push_back(inputs[i].defined() ? inputs[i].detach() : inputs[i]);
        if (is_floating_input(call, i)) leaves.back().set_requires_grad(true);
    }
    return leaves;
}

using Function = double (*)(const TableCall&, const std::vector<Tensor>&);

std::vector<Tensor> first_gradients(const TableCall& call, const std::vector<Tensor>& leaves,
                                    std::vector<Tensor>& wanted, bool create_graph) {
    const std::vector<Tensor> outputs = differentiable(run(call, leaves));
    wanted.clear();
    for (const Tensor& leaf : leaves) {
        if (leaf.defined() && leaf.requires_grad()) wanted.push_back(leaf);
    }
    if (outputs.empty() || wanted.empty()) return {};
    const Tensor total = weighted(outputs);
    if (!total.requires_grad()) return {};  // every output is empty
    return autograd::grad(std::span(&total, 1), wanted, {}, {false, create_graph});
}

double value(const TableCall& call, const std::vector<Tensor>& inputs) {
    const std::vector<Tensor> leaves = leaves_of(call, inputs);
    return ops::item(weighted(differentiable(run(call, leaves))));
}

// The weighted sum of first gradients: what second gradients differentiate.
double gradient_value(const TableCall& call, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> wanted;
    const std::vector<Tensor> grads = first_gradients(call, leaves_of(call, inputs), wanted, false);
    double total = 0;
    uint64_t seed = 2000;
    for (const Tensor& grad : grads) {
        ++seed;
        if (!grad.defined() || grad.numel() == 0) continue;
        const Tensor weights = make_input(ops::normal(grad.shape()), DType::f64, Layout::contiguous, seed);
        total += ops::item(ops::sum(grad * weights));
    }
    return total;
}

// ∂f/∂(element `at` of input i) by central differences.
double difference(Function f, const TableCall& call, const std::vector<Tensor>& inputs, size_t i, size_t at) {
    constexpr double step = 1e-5;
    std::vector<double> numbers = doubles(inputs[i]);
    const auto moved = [&](double by) {
        std::vector<double> changed = numbers;
        changed[at] += by;
        std::vector<Tensor> others = inputs;
        others[i] = ops::from_values(changed, inputs[i].shape());
        return f(call, others);
    };
    return (moved(step) - moved(-step)) / (2 * step);
}

void compare(Function f, const TableCall& call, const std::vector<Tensor>& inputs, const std::vector<Tensor>& grads,
             const std::string& what) {
    size_t next = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!is_floating_input(call, i)) continue;
        const Tensor& grad = grads[next++];
        const auto count = static_cast<size_t>(inputs[i].numel());
        const std::vector<double> analytic = grad.defined() ? doubles(grad) : std::vector<double>(count, 0.0);
        ASSERT_EQ(analytic.size(), count) << what;
        // Up to 24 elements spread over the input.
        const size_t stride = std::max<size_t>(1, count / 24);
        for (size_t at = 0; at < count; at += stride) {
            const double numeric = difference(f, call, inputs, i, at);
            ASSERT_NEAR(analytic[at], numeric, 2e-6 + 2e-5 * std::abs(numeric))
                << what << ": input " << i << ", element " << at;
        }
    }
}

class TableGradient : public testing::TestWithParam<TableCall> {};

std::vector<TableCall> differentiable_calls() {
    std::vector<TableCall> calls;
    for (const TableCall& call : table_calls()) {
        if (call.op->is_differentiable() && call.op->why_no_gradient_check().empty() && call.op->mutated_mask() == 0 &&
            !call.sample->inputs.empty()) {
            calls.push_back(call);
        }
    }
    return calls;
}

TEST_P(TableGradient, EqualsCentralDifferencesInEveryLayout) {
    const TableCall& call = GetParam();
    for (const Layout layout : all_layouts) {
        if (layout != Layout::contiguous && may_refuse_layout(call)) continue;
        const std::vector<Tensor> inputs = make_inputs(*call.sample, DType::f64, layout);
        std::vector<Tensor> wanted;
        const std::vector<Tensor> grads = first_gradients(call, leaves_of(call, inputs), wanted, false);
        if (grads.empty()) continue;
        compare(value, call, contiguous_copies(inputs), grads, call.name + " " + name_of(layout));
    }
}

TEST_P(TableGradient, OfTheGradientEqualsCentralDifferences) {
    const TableCall& call = GetParam();
    const std::vector<Tensor> inputs = make_inputs(*call.sample, DType::f64, Layout::contiguous);
    std::vector<Tensor> wanted, grads;
    try {
        grads = first_gradients(call, leaves_of(call, inputs), wanted, true);
    } catch (const Error& error) {
        // An entry may say that it has no second derivative; it may not leave one out in silence.
        if (std::string(error.what()).find("second derivatives come later") == std::string::npos) throw;
        return;
    }
    Tensor total = ops::zeros({}, DType::f64);
    uint64_t seed = 2000;
    for (const Tensor& grad : grads) {
        ++seed;
        if (!grad.defined() || grad.numel() == 0) continue;
        total = total + ops::sum(grad * make_input(ops::normal(grad.shape()), DType::f64, Layout::contiguous, seed));
    }
    std::vector<Tensor> second(wanted.size());
    if (total.requires_grad()) second = autograd::grad(std::span(&total, 1), wanted, {}, {});
    if (!wanted.empty()) compare(gradient_value, call, inputs, second, call.name + " twice");
}

INSTANTIATE_TEST_SUITE_P(Ops, TableGradient, testing::ValuesIn(differentiable_calls()),
                         [](const auto& each) { return call_name(each.param); });

}  // namespace

}  // namespace tenon::tests
