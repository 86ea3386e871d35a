// The plain path over a whole run: what `make test` samples with ten steps.
#include <gtest/gtest.h>

#include "tenon/base/files.h"
#include "tenon/cpu/instruction_set.h"
#include "tests/train/tiny_models.h"

namespace tenon::tests {

TEST(SameBitsLong, OnThePlainPathOverSixtySteps) {
    const std::string expected =
        base::read_file(std::string(TENON_GOLDEN_DIR) + "/digests/" + plain_model().name + ".txt");
    const cpu::ForcedInstructionSet forced(cpu::InstructionSet::plain);
    EXPECT_EQ(to_text(train_tiny(plain_model(), {})), expected);
}

}  // namespace tenon::tests
