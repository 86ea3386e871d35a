// What is too slow for `make test`: the plain path over whole runs, and a run on the references alone.
#include <gtest/gtest.h>

#include <deque>

#include "tenon/base/files.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/ops/table.h"
#include "tests/train/tiny_models.h"

namespace tenon::tests {

namespace {

std::string golden(const TinyModel& model) {
    return base::read_file(std::string(TENON_GOLDEN_DIR) + "/digests/" + model.name + ".txt");
}

TEST(SameBitsLong, OnThePlainPathOverSixtySteps) {
    const cpu::ForcedInstructionSet forced(cpu::InstructionSet::plain);
    EXPECT_EQ(to_text(train_tiny(plain_model(), {})), golden(plain_model()));
}

TEST(SameBitsLong, OnThePlainPathWhereLongThingsAreCut) {
    const cpu::ForcedInstructionSet forced(cpu::InstructionSet::plain);
    EXPECT_EQ(to_text(train_tiny(long_model(), {})), golden(long_model()));
}

// No cut at all: each op by the plain loops that stand for its rule.
TEST(SameBitsLong, OnTheReferencesWhereLongThingsAreCut) {
    prepare();
    std::deque<ops::ForceProvider> references;
    for (const ops::Op& op : ops::table().all()) {
        auto& providers = op.providers(Device::cpu).list();
        if (providers.size() > 1) references.emplace_back(op.name(), providers.back().name);
    }
    EXPECT_GT(references.size(), 40U);
    EXPECT_EQ(to_text(train_tiny(long_model(), {})), golden(long_model()));
}

}  // namespace

}  // namespace tenon::tests
