#include "tenon/train/plan.h"

#include "tenon/core/allocator.h"
#include "tenon/models/registry.h"
#include "tenon/ops/dispatch.h"

namespace tenon::train {

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

}  // namespace tenon::train
