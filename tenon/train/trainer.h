// One training step over a module, a loss and a batch; and the state that makes the next one follow.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/data/loader.h"
#include "tenon/io/safetensors.h"
#include "tenon/nn/module.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/schedule.h"
#include "tenon/run/digest_ledger.h"
#include "tenon/train/leaf_tree.h"

namespace tenon::train {

// inputs, targets: i64 [B, T]; divisor: valid targets of the global batch. Gives a 0-d loss: the leaf's share of it.
using LossFunction = std::function<Tensor(const Tensor& inputs, const Tensor& targets, double divisor)>;

struct TrainerOptions {
    uint64_t seed = 0;
    int64_t leaves = 1;
    LeafOrder leaf_order = LeafOrder::ascending;
    double clip_norm = 0;
    optim::AdamWOptions adamw;
    optim::Schedule schedule;
};

struct StepSeconds {
    double forward = 0;
    double backward = 0;
    double optimizer = 0;  // norm, update and digests
};

struct StepReport {
    int64_t step = 0;  // from 1
    float loss = 0;    // of the parameters before the update; nats per valid target
    double grad_norm = 0;
    double rate = 0;
    int64_t tokens = 0;
    StepSeconds seconds;
    run::Digest gradients{};
    run::Digest parameters{};  // after the update
};

class Trainer {
public:
    Trainer(nn::Module& module, LossFunction loss, const TrainerOptions& options);

    // Draws the parameters; the seed and their names decide them.
    void initialize();
    StepReport step(const data::Batch& batch);
    int64_t steps_done() const { return optimizer_.steps_taken(); }
    run::Digest parameter_digest() const;

    // Parameters by name, and the optimizer's state by "<parameter>.first_moment" and ".second_moment".
    io::NamedTensors model_tensors() const;
    io::NamedTensors optimizer_tensors() const;
    // Puts both back. Names and shapes must be exactly those of this trainer.
    void restore(int64_t steps_done, const io::NamedTensors& model, const io::NamedTensors& optimizer);

private:
    // Throws Error(failed) that names the step and its samples.
    void check_finite(const StepReport& report, const data::Batch& batch) const;
    // The leaf's loss, then its gradients in the order of the parameters.
    std::vector<Tensor> run_leaf(const data::Batch& batch, int64_t leaf, StepSeconds& seconds);

    nn::Module& module_;
    LossFunction loss_;
    TrainerOptions options_;
    std::vector<nn::NamedParameter> parameters_;
    optim::AdamW optimizer_;
};

// Copies values into tensors of the same names. Missing, unexpected and misshapen ones are errors that name them.
void load_tensors(const io::NamedTensors& into, const io::NamedTensors& from, std::string_view what);

}  // namespace tenon::train
