// A whole training step: wait for the batch, forward, backward, clipping, AdamW, digests. Its arithmetic is what the
// plan counts, as in the progress line of `tenon train`.
#include <memory>

#include "benchmarks/sections.h"
#include "tenon/data/synthetic_tokens.h"
#include "tenon/models/registry.h"
#include "tenon/train/plan.h"
#include "tenon/train/pretrain.h"

namespace tenon::bench {

namespace {

constexpr double must = 45;

// The model, trainer and loader of a configuration, with random tokens in place of its text.
class Training {
public:
    explicit Training(const train::RunConfig& config)
        : model_(models::make_model(config.model)),
          trainer_(
              *model_, [this](const Tensor& x, const Tensor& y, double divisor) { return model_->loss(x, y, divisor); },
              train::trainer_options(config)),
          loader_(
              std::make_shared<data::SyntheticTokens>(model_->sizes().vocabulary, config.batch.integer("length"), 1024),
              {.batch = config.batch.integer("sequences")}) {
        trainer_.initialize();
    }
    void step() { trainer_.step(loader_.next()); }

private:
    std::unique_ptr<models::CausalLM> model_;
    train::Trainer trainer_;
    data::Loader loader_;
};

}  // namespace

void step(Bench& bench, const std::string& config_path) {
    bench.section("one training step, of the f32 peak");
    const std::string label = "step " + config_path;
    if (!bench.wants(label)) return;
    const train::RunConfig config = train::read_run_config(config_path, {});
    const train::StepPlan plan = train::plan_step(config.model, train::trainer_options(config),
                                                  config.batch.integer("sequences"), config.batch.integer("length"));
    Training training(config);
    bench.share_of_peak({label, bench.threads(), plan.flops, must, [&] { training.step(); }});
}

double step_seconds(const std::string& config_path, int steps) {
    Training training(train::read_run_config(config_path, {}));
    for (int i = 0; i < 2; ++i) training.step();
    std::vector<double> seconds;
    for (int i = 0; i < steps; ++i) seconds.push_back(seconds_of([&] { training.step(); }, 1));
    return median(seconds);
}

}  // namespace tenon::bench
