#include "tenon/train/plan.h"

#include "tenon/base/error.h"
#include "tenon/base/number.h"
#include "tenon/base/process.h"
#include "tenon/core/allocator.h"
#include "tenon/models/registry.h"
#include "tenon/ops/dispatch.h"

namespace tenon::train {

namespace {

LeafOrder leaf_order(const std::string& name) {
    if (name == "descending") return LeafOrder::descending;
    return name == "bit-reversed" ? LeafOrder::bit_reversed : LeafOrder::ascending;
}

}  // namespace

TrainerOptions trainer_options(const RunConfig& config) {
    TrainerOptions options;
    options.seed = static_cast<uint64_t>(config.train.integer("seed"));
    options.leaves = config.batch.integer("leaves");
    options.leaf_order = leaf_order(config.batch.string("leaf_order"));
    options.clip_norm = config.optim.real("clip_norm");
    options.adamw = {config.optim.real("beta1"), config.optim.real("beta2"), config.optim.real("eps"),
                     config.optim.real("weight_decay")};
    options.schedule = {optim::schedule_kind(config.schedule.string("kind")),
                        config.optim.real("learning_rate"),
                        config.schedule.integer("warmup_steps"),
                        config.train.integer("steps"),
                        config.schedule.real("final_share"),
                        config.schedule.real("decay_share")};
    return options;
}

StepPlan plan_step(const base::ConfigSection& model_config, const TrainerOptions& options, int64_t sequences,
                   int64_t length) {
    const ops::DefaultDevice meta(Device::meta);
    const int64_t before = memory_counts(Device::meta).live;
    const auto model = models::make_model(model_config);
    Trainer trainer(
        *model, [&](const Tensor& x, const Tensor& y, double divisor) { return model->loss(x, y, divisor); }, options);
    trainer.initialize();
    data::Batch batch;
    batch.rows = sequences;
    batch.length = length;
    batch.valid_targets = sequences * length;

    StepPlan plan;
    for (const nn::NamedParameter& each : model->parameters()) plan.parameters += each.tensor.numel();
    reset_peak(Device::meta);
    const ops::CostCounter counter;
    trainer.step(batch);
    plan.flops = counter.total().flops;
    plan.bytes = counter.total().bytes;
    plan.peak_memory = memory_counts(Device::meta).peak - before;
    for (const io::NamedTensors& tensors : {trainer.model_tensors(), trainer.optimizer_tensors()}) {
        for (const auto& [name, tensor] : tensors) {
            plan.snapshot_memory += size_class(tensor.numel() * size_of(tensor.dtype()));
        }
    }
    return plan;
}

StepPlan plan_run(const RunConfig& config) {
    return plan_step(config.model, trainer_options(config), config.batch.integer("sequences"),
                     config.batch.integer("length"));
}

void check_memory(const RunConfig& config) {
    const StepPlan plan = plan_run(config);
    const int64_t needed = plan.peak_memory + plan.snapshot_memory;
    const int64_t available = base::memory_available();
    if (needed <= available || available <= 0) return;  // 0: the system does not say
    throw Error(Code::refused, "memory",
                "training needs " + base::human_bytes(needed) + " (" + base::human_bytes(plan.snapshot_memory) +
                    " of it for checkpoints) and " + base::human_bytes(available) +
                    " are available; use more batch.leaves, a smaller batch or a smaller model");
}

}  // namespace tenon::train
