// A step on meta says what the real step does: its FLOPs and, within a tenth, its peak memory.
#include <gtest/gtest.h>

#include "tenon/base/toml.h"
#include "tenon/core/allocator.h"
#include "tenon/data/synthetic_tokens.h"
#include "tenon/io/checkpoint_writer.h"
#include "tenon/models/registry.h"
#include "tenon/ops/dispatch.h"
#include "tenon/train/plan.h"
#include "tests/train/tiny_models.h"

namespace tenon::tests {

namespace {

class Plan : public testing::TestWithParam<TinyModel> {};

TEST_P(Plan, AgreesWithTheRealStep) {
    prepare();
    const TinyModel& tiny = GetParam();
    const base::ConfigSection config = models::read_model_config(base::parse_toml(tiny.config, tiny.name));
    train::TrainerOptions options;
    options.leaves = 4;
    options.clip_norm = 1;
    const train::StepPlan plan = train::plan_step(config, options, tiny.sequences, tiny.length);

    const int64_t before = memory_counts(Device::cpu).live;
    const auto model = models::make_model(config);
    train::Trainer trainer(
        *model, [&](const Tensor& x, const Tensor& y, double divisor) { return model->loss(x, y, divisor); }, options);
    trainer.initialize();
    const data::SyntheticTokens source(model->sizes().vocabulary, tiny.length, 97);
    data::Loader loader(std::make_shared<data::SyntheticTokens>(source), {.seed = 1, .batch = tiny.sequences});
    const data::Batch batch = loader.next();
    reset_peak(Device::cpu);
    const ops::CostCounter counter;
    trainer.step(batch);
    EXPECT_EQ(counter.total().flops, plan.flops);
    EXPECT_EQ(counter.total().bytes, plan.bytes);
    const auto peak = static_cast<double>(memory_counts(Device::cpu).peak - before);
    EXPECT_NEAR(static_cast<double>(plan.peak_memory), peak, 0.1 * peak);
    // What a checkpoint is written from, exactly.
    const int64_t live = memory_counts(Device::cpu).live;
    io::CheckpointWriter writer("", 1);
    writer.reserve({0, trainer.model_tensors(), trainer.optimizer_tensors(), {}, {}});
    EXPECT_EQ(plan.snapshot_memory, memory_counts(Device::cpu).live - live);
    // The usual count: 6 FLOPs a parameter of the products and token.
    EXPECT_GT(plan.flops, 5.0 * static_cast<double>((plan.parameters - 40000) * tiny.sequences * tiny.length));
}

INSTANTIATE_TEST_SUITE_P(Models, Plan, testing::ValuesIn(tiny_models()), [](const auto& each) {
    std::string name = each.param.name;
    for (char& c : name) c = c == '-' ? '_' : c;
    return name;
});

}  // namespace

}  // namespace tenon::tests
