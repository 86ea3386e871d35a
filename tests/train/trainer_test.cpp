// What a step hands to its loss and writes into its report.
#include "tenon/train/trainer.h"

#include <gtest/gtest.h>

#include "tenon/ops/functions.h"
#include "tests/train/tiny_models.h"

namespace tenon::tests {

namespace {

class Vector : public nn::Module {
public:
    Vector() { add_parameter("weight", weight, {4}, {nn::Initializer::Kind::normal, 1.0}); }
    Tensor weight;
};

// 8 sequences of one token; three targets of the last leaf are to be ignored.
data::Batch batch() {
    data::Batch made;
    made.rows = 8;
    made.length = 1;
    made.inputs = {0, 1, 2, 3, 0, 1, 2, 3};
    made.targets = {1, 2, 3, 0, 1, -100, -100, -100};
    made.valid_targets = 5;
    return made;
}

train::TrainerOptions two_leaves(double clip_norm) {
    train::TrainerOptions options;
    options.leaves = 2;
    options.clip_norm = clip_norm;
    return options;
}

TEST(Trainer, EveryLeafDividesByTheGlobalBatchsValidTokens) {
    prepare();
    Vector module;
    std::vector<double> divisors;
    train::Trainer trainer(
        module,
        [&](const Tensor&, const Tensor&, double divisor) {
            divisors.push_back(divisor);
            return ops::sum(module.weight);
        },
        two_leaves(0));
    trainer.initialize();
    trainer.step(batch());
    EXPECT_EQ(divisors, (std::vector<double>{5, 5}));
}

TEST(Trainer, TheGradientsDigestIsOfGradientsBeforeClipping) {
    prepare();
    const auto step = [](double clip_norm) {
        Vector module;
        train::Trainer trainer(
            module,
            [&](const Tensor&, const Tensor&, double) { return ops::sum(ops::mul(module.weight, module.weight)); },
            two_leaves(clip_norm));
        trainer.initialize();
        return trainer.step(batch());
    };
    const train::StepReport free = step(0), clipped = step(1e-3);
    ASSERT_GT(free.grad_norm, 1e-3);
    EXPECT_EQ(clipped.gradients, free.gradients);
    EXPECT_EQ(clipped.grad_norm, free.grad_norm);
    EXPECT_NE(free.gradients, run::Digest{});
}

}  // namespace

}  // namespace tenon::tests
