// A training step without memory: what it will cost, before anything is allocated.
#pragma once

#include <cstdint>

#include "tenon/base/config_schema.h"
#include "tenon/train/config.h"
#include "tenon/train/trainer.h"

namespace tenon::train {

struct StepPlan {
    double flops = 0;             // of one step, all leaves
    double bytes = 0;             // moved between memory and kernels, each operand once
    int64_t peak_memory = 0;      // of tensors, rounded as the allocator rounds
    int64_t snapshot_memory = 0;  // of the copy from which a checkpoint is written, beside the step's
    int64_t parameters = 0;       // elements
};

// Runs the whole step (forward, backward, clipping, update) of the model that `config` describes on meta tensors.
StepPlan plan_step(const base::ConfigSection& model, const TrainerOptions& options, int64_t sequences, int64_t length);

// What a configuration says to a trainer, and the plan of its step.
TrainerOptions trainer_options(const RunConfig& config);
StepPlan plan_run(const RunConfig& config);
// Throws Error(refused) where the machine has less memory than training needs. Said before anything is allocated.
void check_memory(const RunConfig& config);

}  // namespace tenon::train
