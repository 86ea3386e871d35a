#include "tenon/io/checkpoint.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tenon/base/error.h"
#include "tenon/base/file_faults.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tests/base/temporary_folder.h"

namespace tenon::tests {

namespace {

using io::CheckpointContent;

CheckpointContent content(int64_t step) {
    return {step,
            {{"weight", ops::full({2, 3}, static_cast<double>(step))}},
            {{"weight.first_moment", ops::full({2, 3}, 0.5)}},
            base::Json::object({{"place", step}}),
            base::Json::object({{"events.jsonl", 7}})};
}

// The step of the newest checkpoint that can be read, or -1; every committed one must be whole.
int64_t newest(const std::string& folder) {
    for (const int64_t step : io::committed_steps(folder)) {
        EXPECT_NO_THROW(io::verify_checkpoint(io::checkpoint_path(folder, step))) << "step " << step;
    }
    std::vector<std::string> skipped;
    const auto found = io::read_newest(folder, skipped);
    return found ? found->step : -1;
}

TEST(Checkpoint, WhereverItsWritingStopsThereIsAWholeOneOrNone) {
    cpu::register_kernels();
    const TemporaryFolder folder;
    io::write_checkpoint(folder.path(), content(1));
    int64_t step = 2;
    // Each try stops before one operation later, as on a disk that is gone. Leftovers are in the next one's way.
    for (int64_t n = 0;; ++n, ++step) {
        ASSERT_LT(n, 200);
        base::FileFaults faults;
        faults.fail_from(n, EIO);
        bool failed = false;
        try {
            const base::FileHookScope scope(faults);
            io::write_checkpoint(folder.path(), content(step));
        } catch (const Error&) {
            failed = true;
        }
        if (!failed) break;
        // The one before, or this one where only the sync of COMMIT's folder failed.
        const int64_t found = newest(folder.path());
        EXPECT_TRUE(found == 1 || found == step) << found << ", stopped before operation " << n;
    }
    EXPECT_EQ(newest(folder.path()), step);
}

TEST(Checkpoint, WhatIsReadIsWhatWasWritten) {
    cpu::register_kernels();
    const TemporaryFolder folder;
    io::write_checkpoint(folder.path(), content(3));
    const CheckpointContent read = io::read_checkpoint(io::checkpoint_path(folder.path(), 3));
    EXPECT_EQ(read.step, 3);
    ASSERT_EQ(read.model.size(), 1U);
    EXPECT_EQ(read.model[0].first, "weight");
    EXPECT_EQ(ops::to_vector<float>(read.model[0].second), std::vector<float>(6, 3));
    EXPECT_EQ(ops::to_vector<float>(read.optimizer[0].second), std::vector<float>(6, 0.5F));
    EXPECT_EQ(read.state.at("place").integer(), 3);
    EXPECT_EQ(read.lengths.at("events.jsonl").integer(), 7);
}

}  // namespace

}  // namespace tenon::tests
