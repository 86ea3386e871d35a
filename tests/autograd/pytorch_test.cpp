// Values and gradients of ops against PyTorch's in float64: the golden files' cases, by way of autograd.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tenon/autograd/autograd.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tests/cpu/golden.h"

namespace tenon::tests {

namespace {

using base::Json;
using Inputs = std::vector<Tensor>;
using Call = std::function<Tensor(const Inputs&, const Json& attributes)>;

double number_or(const Json& attributes, const char* name, double otherwise) {
    const Json& value = attributes.at(name);
    return value.is_null() ? otherwise : value.real();
}

// The golden file names the positions where documents begin; the op takes, for each key, where its document begins.
Tensor document_starts(const Json& positions, int64_t batch, int64_t keys) {
    std::vector<int64_t> starts;
    for (int64_t i = 0; i < batch * keys; ++i) {
        int64_t start = 0;
        for (const Json& position : positions.array_value()) {
            if (position.integer() <= i % keys) start = position.integer();
        }
        starts.push_back(start);
    }
    return ops::from_values(starts, {batch, keys});
}

Tensor attention(const Inputs& x, const Json& attributes) {
    const Json* positions = attributes.find("document_starts");
    const Tensor starts = positions == nullptr ? Tensor() : document_starts(*positions, x[1].size(0), x[1].size(2));
    return ops::attention(x[0], x[1], x[2], starts, attributes.at("causal").boolean(), attributes.at("scale").real());
}

Call unary(Tensor (*op)(const Tensor&)) {
    return [op](const Inputs& x, const Json&) { return op(x[0]); };
}
Call binary(Tensor (*op)(const Tensor&, const Tensor&)) {
    return [op](const Inputs& x, const Json&) { return op(x[0], x[1]); };
}

constexpr double infinity = std::numeric_limits<double>::infinity();

const std::map<std::string, Call> calls = {
    {"exp", unary(ops::exp)},
    {"log", unary(ops::log)},
    {"sin", unary(ops::sin)},
    {"cos", unary(ops::cos)},
    {"tanh", unary(ops::tanh)},
    {"erf", unary(ops::erf)},
    {"sigmoid", unary(ops::sigmoid)},
    {"silu", unary(ops::silu)},
    {"relu", unary(ops::relu)},
    {"abs", unary(ops::abs)},
    {"sign", unary(ops::sign)},
    {"square", unary(ops::square)},
    {"neg", unary(ops::neg)},
    {"sqrt", unary(ops::sqrt)},
    {"rsqrt", unary(ops::rsqrt)},
    {"reciprocal", unary(ops::reciprocal)},
    {"gelu",
     [](const Inputs& x, const Json& a) {
         return a.at("approximate").string() == "tanh" ? ops::gelu_tanh(x[0]) : ops::gelu(x[0]);
     }},
    {"pow", [](const Inputs& x, const Json& a) { return ops::pow(x[0], a.at("exponent").real()); }},
    {"clamp",
     [](const Inputs& x, const Json& a) {
         return ops::clamp(x[0], number_or(a, "min", -infinity), number_or(a, "max", infinity));
     }},
    {"add", binary(ops::add)},
    {"sub", binary(ops::sub)},
    {"mul", binary(ops::mul)},
    {"div", binary(ops::div)},
    {"maximum", binary(ops::maximum)},
    {"minimum", binary(ops::minimum)},
    {"eq", binary(ops::eq)},
    {"ne", binary(ops::ne)},
    {"lt", binary(ops::lt)},
    {"le", binary(ops::le)},
    {"gt", binary(ops::gt)},
    {"ge", binary(ops::ge)},
    {"where", [](const Inputs& x, const Json&) { return ops::where(x[0], x[1], x[2]); }},
    {"index_select",
     [](const Inputs& x, const Json& a) { return ops::index_select(x[0], x[1], a.at("dim").integer()); }},
    {"gather", [](const Inputs& x, const Json& a) { return ops::gather(x[0], x[1], a.at("dim").integer()); }},
    {"stack", [](const Inputs& x, const Json& a) { return ops::stack(x, a.at("dim").integer()); }},
    {"cat", [](const Inputs& x, const Json& a) { return ops::cat(x, a.at("dim").integer()); }},
    {"embedding", binary(ops::embedding)},
    {"masked_fill", [](const Inputs& x, const Json& a) { return ops::masked_fill(x[0], x[1], a.at("value").real()); }},
    {"one_hot", [](const Inputs& x, const Json& a) { return ops::one_hot(x[0], a.at("classes").integer()); }},
    {"tril", [](const Inputs& x, const Json& a) { return ops::tril(x[0], a.at("diagonal").integer()); }},
    {"matmul", binary(ops::matmul)},
    {"linear", [](const Inputs& x, const Json&) { return ops::linear(x[0], x[1], x.size() > 2 ? x[2] : Tensor()); }},
    {"attention", attention},
};

// Each case of a family: output and gradients within `tolerance` of the tensor's greatest magnitude.
void expect_family(const std::string& name, double tolerance) {
    cpu::register_kernels();
    autograd::register_autograd();
    const golden::Family family(name);
    family.over_all([&](const std::string& at, const Json& entry) {
        const auto call = calls.find(entry.at("op").string());
        ASSERT_NE(call, calls.end()) << "no call of " << entry.at("op").string() << " above";
        Inputs inputs;
        for (const Json& input : entry.at("inputs").array_value()) {
            inputs.push_back(family.tensor(at + "." + input.string()));
            if (family.has_tensor(at + ".d_" + input.string())) inputs.back().set_requires_grad(true);
        }
        const Tensor output = call->second(inputs, entry.at("attributes"));
        golden::expect_near(output, family.tensor(at + ".output"), tolerance);
        if (!family.has_tensor(at + ".incoming")) return;
        autograd::backward(output, ops::cast(family.tensor(at + ".incoming"), output.dtype()));
        for (size_t i = 0; i < inputs.size(); ++i) {
            const std::string gradient = at + ".d_" + entry.at("inputs").array_value()[i].string();
            if (!family.has_tensor(gradient)) continue;
            SCOPED_TRACE(gradient);
            // The incoming gradient was rounded to 16 bits too.
            const bool rounded = size_of(output.dtype()) == 2;
            golden::expect_near(autograd::grad_of(inputs[i]), family.tensor(gradient), rounded ? 1.0 / 256 : tolerance);
        }
    });
}

TEST(AgainstPyTorch, Elementwise) {
    expect_family("elementwise", 2e-6);
}

TEST(AgainstPyTorch, Indexing) {
    expect_family("indexing", 1e-6);
}

TEST(AgainstPyTorch, Matmul) {
    expect_family("matmul", 2e-6);
}

TEST(AgainstPyTorch, Attention) {
    expect_family("attention", 4e-6);
}

}  // namespace

}  // namespace tenon::tests
