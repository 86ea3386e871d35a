// Fifty steps of three tiny models from PyTorch's weights and batches: its losses, gradient norms and final weights.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/autograd/autograd.h"
#include "tenon/base/files.h"
#include "tenon/models/registry.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/train/config.h"
#include "tenon/train/trainer.h"
#include "tests/train/tiny_models.h"

namespace tenon::tests {

namespace {

constexpr int64_t sequences = 4;
constexpr int64_t length = 32;

std::string golden(const std::string& file) {
    return std::string(TENON_GOLDEN_DIR) + "/train/" + file;
}

Tensor find(const io::NamedTensors& tensors, const std::string& name) {
    for (const auto& [each, tensor] : tensors) {
        if (each == name) return tensor;
    }
    ADD_FAILURE() << "no tensor " << name;
    return {};
}

struct Golden {
    std::unique_ptr<models::CausalLM> model;
    base::Json steps;
    std::vector<int64_t> tokens;  // [steps, sequences, length + 1]
};

Golden load(const std::string& name) {
    prepare();
    Golden loaded;
    const std::string path = golden(name + "/config.json");
    loaded.model =
        models::make_model(train::recorded_model_config(base::parse_json(base::read_file(path), path), path));
    const std::string steps = golden(name + "/steps.json");
    loaded.steps = base::parse_json(base::read_file(steps), steps);
    loaded.tokens = ops::to_vector<int64_t>(find(io::read_safetensors(golden("batches.safetensors")), "tokens"));
    io::NamedTensors parameters;
    for (const nn::NamedParameter& each : loaded.model->parameters()) parameters.emplace_back(each.name, each.tensor);
    train::load_tensors(parameters, io::read_safetensors(golden(name + "/initial.safetensors")), "the model");
    return loaded;
}

data::Batch batch(const Golden& from, int64_t step) {
    data::Batch made;
    made.rows = sequences;
    made.length = length;
    made.valid_targets = sequences * length;
    for (int64_t row = 0; row < sequences; ++row) {
        const auto first = from.tokens.begin() + (step * sequences + row) * (length + 1);
        made.inputs.insert(made.inputs.end(), first, first + length);
        made.targets.insert(made.targets.end(), first + 1, first + 1 + length);
    }
    return made;
}

train::TrainerOptions recipe() {
    train::TrainerOptions options;
    options.clip_norm = 1;
    options.adamw = {0.9, 0.95, 1e-8, 0.1};
    options.schedule = {optim::Schedule::Kind::cosine, 4e-3, 5, 50, 0.1, 0.2};
    return options;
}

double relative(double a, double b) {
    return std::abs(a - b) / std::abs(b);
}

// |a − b| / |b| in the Euclidean norm.
double relative_norm(const Tensor& a, const Tensor& b, int64_t skip_from = -1, int64_t skip_to = -1) {
    const std::vector<float> x = ops::to_vector<float>(a);
    const std::vector<float> y = ops::to_vector<float>(b);
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        if (static_cast<int64_t>(i) >= skip_from && static_cast<int64_t>(i) < skip_to) continue;
        difference += std::pow(static_cast<double>(x[i]) - y[i], 2);
        norm += std::pow(static_cast<double>(y[i]), 2);
    }
    return std::sqrt(difference / norm);
}

class Parity : public testing::TestWithParam<const char*> {};

TEST_P(Parity, LogitsAreTransformers) {
    const Golden from = load(GetParam());
    const ops::NoGrad guard;
    from.model->set_training(false);
    const data::Batch first = batch(from, 0);
    const Tensor tokens = ops::narrow(ops::from_values(first.inputs, {sequences, length}), 1, 0, 8);
    const std::vector<float> logits = ops::to_vector<float>(from.model->logits(tokens));
    const std::vector<float> expected = ops::to_vector<float>(
        find(io::read_safetensors(golden(std::string(GetParam()) + "/logits.safetensors")), "logits"));
    ASSERT_EQ(logits.size(), expected.size());
    for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 1e-5) << i;
}

TEST_P(Parity, EveryStepIsPyTorchs) {
    const Golden from = load(GetParam());
    train::Trainer trainer(
        *from.model, [&](const Tensor& x, const Tensor& y, double divisor) { return from.model->loss(x, y, divisor); },
        recipe());
    for (int64_t step = 0; step < 50; ++step) {
        const train::StepReport report = trainer.step(batch(from, step));
        EXPECT_LT(relative(report.loss, from.steps.at("loss").at(step).real()), 2e-4) << "step " << step;
        EXPECT_LT(relative(report.grad_norm, from.steps.at("gradient_norm").at(step).real()), 2e-4) << "step " << step;
        EXPECT_LT(relative(report.rate, from.steps.at("learning_rate").at(step).real()), 1e-12) << "step " << step;
    }
    const io::NamedTensors expected = io::read_safetensors(golden(std::string(GetParam()) + "/final.safetensors"));
    for (const auto& [name, tensor] : trainer.model_tensors()) {
        // The key third of c_attn.bias has a true gradient of zero: Adam moves it by rounding noise.
        const bool has_key_bias = name.find("c_attn.bias") != std::string::npos;
        const int64_t third = tensor.numel() / 3;
        EXPECT_LT(relative_norm(tensor, find(expected, name), has_key_bias ? third : -1, has_key_bias ? 2 * third : -1),
                  2e-3)
            << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Parity, testing::Values("llama", "llama-tied", "gpt2"), [](const auto& each) {
    std::string name = each.param;
    for (char& c : name) c = c == '-' ? '_' : c;
    return name;
});

TEST(Parity, TheGradientOfAKeyBiasIsZero) {
    const Golden from = load("gpt2");
    const data::Batch first = batch(from, 0);
    autograd::backward(from.model->loss(ops::from_values(first.inputs, {sequences, length}),
                                        ops::from_values(first.targets, {sequences, length}), sequences * length));
    int found = 0;
    for (const nn::NamedParameter& each : from.model->parameters()) {
        if (each.name.find("c_attn.bias") == std::string::npos) continue;
        ++found;
        const std::vector<float> grad = ops::to_vector<float>(autograd::grad_of(each.tensor));
        for (size_t i = grad.size() / 3; i < 2 * grad.size() / 3; ++i) EXPECT_LT(std::abs(grad[i]), 1e-6) << each.name;
    }
    EXPECT_EQ(found, 2);
}

}  // namespace

}  // namespace tenon::tests
