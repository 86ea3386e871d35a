#include "tenon/train/self_check.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "tenon/base/toml.h"
#include "tenon/data/loader.h"
#include "tenon/data/synthetic_tokens.h"
#include "tenon/models/registry.h"
#include "tenon/train/trainer.h"

namespace tenon::train {

std::vector<run::DigestRecord> golden_records(const GoldenRun& golden) {
    constexpr uint64_t seed = 5;
    constexpr int64_t samples = 97;
    const auto model = models::make_model(models::read_model_config(base::parse_toml(golden.model, "golden run")));
    TrainerOptions options;
    options.seed = seed;
    options.leaves = golden.leaves;
    options.leaf_order = golden.leaf_order;
    options.clip_norm = 0.5;
    options.adamw = {0.9, 0.95, 1e-8, 0.1};
    options.schedule = {optim::Schedule::Kind::cosine, 4e-3, 5, 60, 0.1, 0.2};
    Trainer trainer(
        *model, [&](const Tensor& x, const Tensor& y, double divisor) { return model->loss(x, y, divisor); }, options);
    trainer.initialize();
    data::Loader loader(std::make_shared<data::SyntheticTokens>(model->sizes().vocabulary, golden.length, samples),
                        {.seed = seed, .batch = golden.sequences});
    std::vector<run::DigestRecord> records = {
        {0, std::numeric_limits<float>::quiet_NaN(), {}, trainer.parameter_digest()}};
    for (int64_t s = 0; s < golden.steps; ++s) {
        const StepReport report = trainer.step(loader.next());
        records.push_back({report.step, report.loss, report.gradients, report.parameters});
    }
    return records;
}

std::string_view self_check_digests() {
    return "0\t-\t-\t45e7547b9b1141f34aaa201fdcd8e53f\n"
           "1\t4.872152\tcee64dd5376c760c829456d66c2eb542\t39d4ec8f960fe5fdd855f9b71bedf40d\n"
           "2\t4.854735\t0ab91f8c95d0fbe269ff50138173df3a\ta7ec558308e844b6a75f1754c7882ed4\n"
           "3\t4.7803593\t07ee82f0f106c781b1b22def7ce2788f\t6c447997bae4017b31f8bd611097a34b\n"
           "4\t4.7191477\t8f3d63bf790348196060f53608a3658d\taebe6286adea5ecf606ab6304fc1faa9\n"
           "5\t4.58568\t654486f0d0320833529f0b8301cc98b1\t3b112ccdae15cb07cbf9ec5e1e0fd013\n";
}

std::string first_difference(std::string_view expected, std::string_view actual) {
    while (!expected.empty() || !actual.empty()) {
        const std::string_view wanted = expected.substr(0, expected.find('\n'));
        const std::string_view got = actual.substr(0, actual.find('\n'));
        if (wanted != got) return "expected " + std::string(wanted) + ", got " + std::string(got);
        expected.remove_prefix(std::min(wanted.size() + 1, expected.size()));
        actual.remove_prefix(std::min(got.size() + 1, actual.size()));
    }
    return "";
}

}  // namespace tenon::train
