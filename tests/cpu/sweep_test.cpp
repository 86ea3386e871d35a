// Says which sets the sweeps of the other tests leave out here: a skip, so that the list of skips knows of it.
#include "tests/cpu/sweep.h"

#include <algorithm>

namespace tenon {

namespace {

class Sweep : public testing::TestWithParam<cpu::InstructionSet> {};

TEST_P(Sweep, Covers) {
    if (!cpu::supported(GetParam())) {
        GTEST_SKIP() << "this processor lacks " << cpu::name(GetParam()) << ", so no test over all sets covers it";
    }
    const std::vector<cpu::InstructionSet> all = sweep::sets();
    EXPECT_NE(std::find(all.begin(), all.end(), GetParam()), all.end());
}

INSTANTIATE_TEST_SUITE_P(Sets, Sweep,
                         testing::Values(cpu::InstructionSet::plain, cpu::InstructionSet::avx2,
                                         cpu::InstructionSet::avx512),
                         [](const auto& each) { return std::string(cpu::name(each.param)); });

}  // namespace

}  // namespace tenon
