#include "tenon/train/trainer.h"

#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tenon/autograd/autograd.h"
#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/base/nearest.h"
#include "tenon/base/number.h"
#include "tenon/base/process.h"
#include "tenon/core/random.h"
#include "tenon/ops/digest_key.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/optim/clip.h"

namespace tenon::train {

namespace {

using base::Clock;
using base::seconds_since;

// Adds over a set: the sum over its tensors.
void add_digest(run::Digest& sum, const std::string& name, const Tensor& tensor) {
    const ops::DigestKey key = ops::digest_key(name);
    const Tensor words = ops::digest(tensor, key.n0, key.n1);
    if (words.device() == Device::meta) return;
    const std::vector<int64_t> values = ops::to_vector<int64_t>(words);
    for (size_t i = 0; i < 2; ++i) sum[i] += static_cast<uint64_t>(values[i]);
}

// Rows first … first + rows of a batch's [sequences, length] values.
Tensor batch_rows(const std::vector<int64_t>& values, int64_t length, int64_t first, int64_t rows, Device device) {
    if (device == Device::meta) return Tensor({rows, length}, DType::i64, device);
    return ops::from_values(
        std::span(values).subspan(static_cast<size_t>(first * length), static_cast<size_t>(rows * length)),
        {rows, length});
}

io::NamedTensors named(const std::vector<nn::NamedParameter>& parameters) {
    io::NamedTensors tensors;
    for (const nn::NamedParameter& each : parameters) tensors.emplace_back(each.name, each.tensor);
    return tensors;
}

}  // namespace

Trainer::Trainer(nn::Module& module, LossFunction loss, const TrainerOptions& options)
    : module_(module),
      loss_(std::move(loss)),
      options_(options),
      parameters_(module.parameters()),
      optimizer_(parameters_, options.adamw) {
    if (parameters_.empty()) throw Error(Code::usage, "trainer", "the module has no parameters");
}

void Trainer::initialize() {
    module_.initialize(options_.seed);
}

std::vector<Tensor> Trainer::run_leaf(const data::Batch& batch, int64_t leaf, StepSeconds& seconds) {
    const Device device = parameters_[0].tensor.device();
    const int64_t rows = batch.rows / options_.leaves;
    const Tensor inputs = batch_rows(batch.inputs, batch.length, leaf * rows, rows, device);
    const Tensor targets = batch_rows(batch.targets, batch.length, leaf * rows, rows, device);
    const Pass pass(options_.seed, static_cast<uint32_t>(steps_done()), static_cast<uint32_t>(leaf));

    auto start = Clock::now();
    const double sharers = TENON_FAULT(leaf_divides_by_its_own) ? static_cast<double>(options_.leaves) : 1;
    Tensor loss = loss_(inputs, targets, static_cast<double>(batch.valid_targets) / sharers);
    seconds.forward += seconds_since(start);
    start = Clock::now();
    autograd::backward(loss);
    seconds.backward += seconds_since(start);

    std::vector<Tensor> values = {loss.detach()};
    for (const nn::NamedParameter& each : parameters_) {
        Tensor grad = autograd::grad_of(each.tensor);
        if (!grad.defined()) {
            throw Error(Code::failed, "trainer", "the loss does not depend on the parameter \"" + each.name + "\"");
        }
        autograd::clear_grad(each.tensor);
        values.push_back(std::move(grad));
    }
    return values;
}

// Before anything is applied: one such step would leave no finite parameter.
void Trainer::check_finite(const StepReport& report, const data::Batch& batch) const {
    if (std::isfinite(report.loss) && std::isfinite(report.grad_norm)) return;
    std::string samples;
    for (const int64_t sample : batch.samples) samples += " " + std::to_string(sample);
    throw Error(Code::failed, "trainer",
                "step " + std::to_string(steps_done() + 1) + " was not applied: its loss is " +
                    base::shortest(report.loss) + " and its gradient norm " + base::shortest(report.grad_norm) +
                    ", of samples" + samples + "; a lower optim.learning_rate or a larger optim.eps may help");
}

StepReport Trainer::step(const data::Batch& batch) {
    if (batch.rows % options_.leaves != 0) {
        throw Error(Code::usage, "trainer",
                    std::to_string(batch.rows) + " sequences do not divide into " + std::to_string(options_.leaves) +
                        " leaves");
    }
    module_.set_training(true);
    StepReport report;
    LeafTree tree(options_.leaves);
    for (const int64_t leaf : leaf_sequence(options_.leaves, options_.leaf_order)) {
        tree.add(leaf, run_leaf(batch, leaf, report.seconds));
    }
    std::vector<Tensor> values = tree.take_root();
    const bool has_values = values[0].device() != Device::meta;
    report.loss = has_values ? static_cast<float>(ops::item(values[0])) : std::numeric_limits<float>::quiet_NaN();
    const std::vector<Tensor> grads(values.begin() + 1, values.end());

    const auto start = Clock::now();
    const ops::NoGrad guard;
    std::vector<std::pair<std::string, Tensor>> named_grads;
    for (size_t i = 0; i < grads.size(); ++i) {
        named_grads.emplace_back(parameters_[i].name, grads[i]);
        add_digest(report.gradients, parameters_[i].name, grads[i]);
    }
    report.grad_norm = optim::global_norm(std::move(named_grads));
    if (has_values) check_finite(report, batch);
    report.rate = options_.schedule.rate(steps_done());
    const double factor = optim::clip_factor(report.grad_norm, options_.clip_norm);
    if (TENON_FAULT(digest_after_clipping)) {
        report.gradients = {};
        for (size_t i = 0; i < grads.size(); ++i) {
            add_digest(report.gradients, parameters_[i].name, ops::mul(grads[i], ops::number(factor)));
        }
    }
    optimizer_.step(grads, report.rate, factor);
    report.parameters = parameter_digest();
    report.seconds.optimizer = seconds_since(start);
    report.step = steps_done();
    report.tokens = batch.rows * batch.length;
    return report;
}

run::Digest Trainer::parameter_digest() const {
    const ops::NoGrad guard;
    run::Digest sum{};
    for (const nn::NamedParameter& each : parameters_) add_digest(sum, each.name, each.tensor);
    return sum;
}

io::NamedTensors Trainer::model_tensors() const {
    return named(parameters_);
}

io::NamedTensors Trainer::optimizer_tensors() const {
    io::NamedTensors tensors;
    for (const optim::AdamW::Slot& slot : optimizer_.slots()) {
        tensors.emplace_back(slot.name + ".first_moment", slot.first_moment);
        tensors.emplace_back(slot.name + ".second_moment", slot.second_moment);
    }
    return tensors;
}

void Trainer::restore(int64_t steps_done, const io::NamedTensors& model, const io::NamedTensors& optimizer) {
    load_tensors(model_tensors(), model, "the model");
    if (!TENON_FAULT(moments_lost)) load_tensors(optimizer_tensors(), optimizer, "the optimizer");
    optimizer_.set_steps_taken(steps_done);
}

void load_tensors(const io::NamedTensors& into, const io::NamedTensors& from, std::string_view what) {
    const ops::NoGrad guard;
    std::map<std::string_view, const Tensor*> given;
    std::vector<std::string_view> names;
    for (const auto& [name, tensor] : from) given[name] = &tensor;
    for (const auto& [name, tensor] : into) names.push_back(name);
    for (auto [name, tensor] : into) {
        const auto found = given.find(name);
        if (found == given.end()) {
            throw Error(Code::file, "load", "tensor \"" + name + "\" of " + std::string(what) + " is missing");
        }
        const Tensor& value = *found->second;
        if (value.shape() != tensor.shape() || value.dtype() != tensor.dtype()) {
            throw Error(Code::file, "load",
                        "tensor \"" + name + "\" is " + describe(value) + "; " + std::string(what) + " has " +
                            describe(tensor));
        }
        ops::assign(tensor, value);
        given.erase(found);
    }
    if (given.empty()) return;
    const std::string_view stray = given.begin()->first;
    throw Error(Code::file, "load",
                "tensor \"" + std::string(stray) + "\" has no place in " + std::string(what) +
                    base::nearest_hint(stray, names));
}

}  // namespace tenon::train
