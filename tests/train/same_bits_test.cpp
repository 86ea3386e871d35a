// The same bits, step by step, whatever computes them: threads, leaf order, instruction set, process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tenon/base/files.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/train/self_check.h"
#include "tests/train/tiny_models.h"

namespace tenon::tests {

namespace {

using cpu::InstructionSet;
using train::LeafOrder;

std::string golden_path(const TinyModel& model) {
    return std::string(TENON_GOLDEN_DIR) + "/digests/" + model.name + ".txt";
}

// The digests that every machine, compiler and instruction set must give. A change of numerics writes them anew with
// TENON_WRITE_DIGESTS=1, in a commit that says why.
std::string golden(const TinyModel& model, const TinyRun& options) {
    if (std::getenv("TENON_WRITE_DIGESTS") != nullptr) {
        TinyRun whole = options;
        whole.steps = model.steps;
        base::write_file_atomically(golden_path(model), to_text(train_tiny(model, whole)));
    }
    const std::string all = base::read_file(golden_path(model));
    if (options.steps == 0) return all;
    size_t end = 0;
    for (int64_t line = 0; line <= options.steps; ++line) end = all.find('\n', end) + 1;
    return all.substr(0, end);
}

class SameBits : public testing::TestWithParam<TinyModel> {};

TEST_P(SameBits, AsTheGoldenFile) {
    EXPECT_EQ(to_text(train_tiny(GetParam(), {})), golden(GetParam(), {}));
}

TEST_P(SameBits, ForAnyNumberOfThreads) {
    const std::string expected = golden(GetParam(), {});
    for (const int threads : {1, 3, 4}) {
        EXPECT_EQ(to_text(train_tiny(GetParam(), {.threads = threads})), expected) << threads << " threads";
    }
}

TEST_P(SameBits, ForAnyOrderOfLeaves) {
    const std::string expected = golden(GetParam(), {});
    for (const LeafOrder order : {LeafOrder::descending, LeafOrder::bit_reversed}) {
        EXPECT_EQ(to_text(train_tiny(GetParam(), {.order = order})), expected) << static_cast<int>(order);
    }
}

void expect_golden_on(const TinyModel& model, InstructionSet set) {
    if (!cpu::supported(set)) GTEST_SKIP() << "this processor lacks " << cpu::name(set);
    const cpu::ForcedInstructionSet forced(set);
    EXPECT_EQ(to_text(train_tiny(model, {})), golden(model, {}));
}

TEST_P(SameBits, OnAvx2) {
    expect_golden_on(GetParam(), InstructionSet::avx2);
}

TEST_P(SameBits, OnAvx512) {
    expect_golden_on(GetParam(), InstructionSet::avx512);
}

std::string test_name(const testing::TestParamInfo<TinyModel>& each) {
    std::string name = each.param.name;
    for (char& c : name) c = c == '-' ? '_' : c;
    return name;
}

INSTANTIATE_TEST_SUITE_P(Models, SameBits, testing::ValuesIn(tiny_models()), test_name);
INSTANTIATE_TEST_SUITE_P(Long, SameBits, testing::Values(long_model()), test_name);

TEST(SameBits, OnThePlainPath) {
    const TinyRun run{.steps = 10};
    const std::string expected = golden(plain_model(), run);
    EXPECT_EQ(to_text(train_tiny(plain_model(), run)), expected);
    const cpu::ForcedInstructionSet forced(InstructionSet::plain);
    EXPECT_EQ(to_text(train_tiny(plain_model(), run)), expected);
}

TEST(SameBits, TheSelfCheckKnowsTheGoldenFilesFirstSteps) {
    EXPECT_EQ(golden(plain_model(), {.steps = 5}), train::self_check_digests());
    const std::string last = "2\tb\n";
    EXPECT_EQ(train::first_difference("1\ta\n" + last, "1\ta\n" + last), "");
    EXPECT_EQ(train::first_difference("1\ta\n" + last, "1\ta\n2\tc\n"), "expected 2\tb, got 2\tc");
    EXPECT_EQ(train::first_difference("1\ta\n", "1\ta\n" + last), "expected , got 2\tb");
}

TEST(SameBits, LeafCountIsPartOfTheContract) {
    const TinyModel& model = plain_model();
    // Another V is another sum: were this equal, the digests would be blind to the tree.
    EXPECT_NE(to_text(train_tiny(model, {.steps = 2, .leaves = 2})),
              to_text(train_tiny(model, {.steps = 2, .leaves = 4})));
}

}  // namespace

}  // namespace tenon::tests
