// Values and gradients of ops against PyTorch's in float64: every case of every golden file, by way of autograd.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tenon/autograd/autograd.h"
#include "tenon/base/files.h"
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

Dims dims_of(const Json& attributes) {
    Dims dims;
    for (const Json& dim : attributes.at("dims").array_value()) dims.push_back(dim.integer());
    return dims;
}

Call reduction(Tensor (*op)(const Tensor&, const Dims&, bool)) {
    return [op](const Inputs& x, const Json& a) { return op(x[0], dims_of(a), a.at("keepdim").boolean()); };
}
Call along(Tensor (*op)(const Tensor&, int64_t)) {
    return [op](const Inputs& x, const Json& a) { return op(x[0], a.at("dim").integer()); };
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
    {"softmax", along(ops::softmax)},
    {"log_softmax", along(ops::log_softmax)},
    {"logsumexp", reduction(ops::logsumexp)},
    {"sum", reduction(ops::sum)},
    {"mean", reduction(ops::mean)},
    {"amax", reduction(ops::amax)},
    {"argmax", [](const Inputs& x,
                  const Json& a) { return ops::argmax(x[0], a.at("dim").integer(), a.at("keepdim").boolean()); }},
    {"rms_norm", [](const Inputs& x, const Json& a) { return ops::rms_norm(x[0], x[1], a.at("eps").real()); }},
    {"layer_norm",
     [](const Inputs& x, const Json& a) { return ops::layer_norm(x[0], x[1], x[2], a.at("eps").real()); }},
    {"rope", [](const Inputs& x, const Json&) { return ops::rope(x[0], x[1], x[2]); }},
    {"cross_entropy",
     [](const Inputs& x, const Json& a) {
         // 0 divides by the number of targets that count.
         const double divisor = a.at("reduction").string() == "sum" ? 1 : 0;
         return ops::cross_entropy(x[0], x[1], a.at("ignore_index").integer(), divisor);
     }},
    {"linear_cross_entropy",
     [](const Inputs& x, const Json& a) {
         return ops::linear_cross_entropy(x[0], x[1], x[2], a.at("ignore_index").integer(), a.at("divisor").real());
     }},
};

// Tolerance of each family: of an output or a gradient, in units of its greatest magnitude.
const std::map<std::string, double> families = {
    {"attention", 4e-6}, {"cross_entropy", 2e-6}, {"elementwise", 2e-6}, {"indexing", 1e-6}, {"matmul", 2e-6},
    {"norms", 4e-6},     {"reductions", 2e-6},    {"rope", 3e-7},        {"softmax", 2e-6},
};

double greatest_magnitude(const Tensor& x) {
    double greatest = 0;
    for (const double v : ops::to_vector<double>(ops::cast(x, DType::f64))) greatest = std::max(greatest, std::abs(v));
    return greatest;
}

// One family's cases, and which of its tensors they have read.
class Cases {
public:
    Cases(const std::string& name, double tolerance) : family_(name), name_(name), tolerance_(tolerance) {}

    void expect_all() {
        family_.over_all([&](const std::string& at, const Json& entry) { expect_case(at, entry); });
        EXPECT_EQ(read_, family_.tensor_names()) << "tensors that no comparison has read";
    }

private:
    Tensor tensor(const std::string& name) {
        read_.insert(name);
        return family_.tensor(name);
    }

    Inputs inputs_of(const std::string& at, const Json& entry) {
        Inputs inputs;
        for (const Json& input : entry.at("inputs").array_value()) {
            inputs.push_back(tensor(at + "." + input.string()));
            if (family_.has_tensor(at + ".d_" + input.string())) inputs.back().set_requires_grad(true);
        }
        if (entry.at("op").string() != "rope") return inputs;
        for (const char* table : {".cos", ".sin"}) inputs.push_back(tensor(at + table));
        return inputs;
    }

    void expect_case(const std::string& at, const Json& entry) {
        const auto call = calls.find(entry.at("op").string());
        ASSERT_NE(call, calls.end()) << "no call of " << entry.at("op").string() << " above";
        const Inputs inputs = inputs_of(at, entry);
        const Tensor output = call->second(inputs, entry.at("attributes"));
        golden::expect_near(output, tensor(at + ".output"), tolerance_);
        if (entry.at("gradients").array_value().empty()) return;
        const Tensor incoming = tensor(at + ".incoming");
        autograd::backward(output, ops::cast(incoming, output.dtype()));
        // A norm's dx is a difference of terms as large as the incoming gradient; of one element, of equal ones.
        const double least = name_ == "norms" ? greatest_magnitude(incoming) : 0;
        // The incoming gradient was rounded to 16 bits too.
        const double tolerance = size_of(output.dtype()) == 2 ? 1.0 / 256 : tolerance_;
        for (size_t i = 0; i < entry.at("inputs").array_value().size(); ++i) {
            const std::string gradient = at + ".d_" + entry.at("inputs").array_value()[i].string();
            if (!family_.has_tensor(gradient)) continue;
            SCOPED_TRACE(gradient);
            const Tensor ours = autograd::grad_of(inputs[i]);
            ASSERT_TRUE(ours.defined());
            golden::expect_near(ours, tensor(gradient), tolerance, least);
        }
    }

    golden::Family family_;
    std::string name_;
    double tolerance_;
    std::set<std::string> read_;
};

class AgainstPyTorch : public testing::TestWithParam<std::pair<const std::string, double>> {};

TEST_P(AgainstPyTorch, EveryCaseHasItsValuesAndItsGradients) {
    cpu::register_kernels();
    autograd::register_autograd();
    Cases(GetParam().first, GetParam().second).expect_all();
}

INSTANTIATE_TEST_SUITE_P(Families, AgainstPyTorch, testing::ValuesIn(families),
                         [](const auto& each) { return each.param.first; });

TEST(AgainstPyTorchFiles, EachFamilyInTheFolderIsInTheListAbove) {
    std::set<std::string> in_list, in_folder;
    for (const auto& [name, tolerance] : families) in_list.insert(name);
    for (const std::string& file : base::list_directory(std::string(TENON_GOLDEN_DIR) + "/ops")) {
        const std::string extension = ".safetensors";
        if (file.ends_with(extension)) in_folder.insert(file.substr(0, file.size() - extension.size()));
    }
    EXPECT_EQ(in_list, in_folder);
}

}  // namespace

}  // namespace tenon::tests
