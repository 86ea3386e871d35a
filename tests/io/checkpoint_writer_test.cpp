// Checkpoints written in the background: what is written is what the tensors were at the call, and no error is lost.
#include "tenon/io/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>

#include "tenon/base/error.h"
#include "tenon/base/file_faults.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tests/base/temporary_folder.h"

namespace tenon::tests {

namespace {

using base::FileOperation;

// Holds every operation on files back until it is told to let go.
class Gate : public base::FileHook {
public:
    base::FileAnswer before(const base::FileCall& /*call*/) override {
        std::unique_lock lock(mutex_);
        opened_.wait(lock, [&] { return open_; });
        return {};
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        opened_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool open_ = false;
};

class CheckpointWriterTest : public testing::Test {
protected:
    CheckpointWriterTest() {
        cpu::register_kernels();
        weight_ = ops::zeros({2, 3});
        moment_ = ops::zeros({5});
        base::write_file_atomically(log_, "log\n");
        base::make_directory(folder_);
    }

    io::CheckpointContent content(int64_t step) const {
        return {step,
                {{"weight", weight_}},
                {{"weight.first_moment", moment_}},
                base::Json::object({}),
                base::Json::object({{"log", 4}})};
    }
    void begin(io::CheckpointWriter& writer, int64_t step) const { writer.begin(content(step), {log_}); }
    void train(double value) {
        const ops::NoGrad guard;
        ops::assign(weight_, ops::full({2, 3}, value));
        ops::assign(moment_, ops::full({5}, -value));
    }
    void expect_whole(int64_t step, float value) const {
        const io::CheckpointContent read = io::read_checkpoint(io::checkpoint_path(folder_, step));
        EXPECT_EQ(ops::to_vector<float>(read.model[0].second), std::vector<float>(6, value));
        EXPECT_EQ(ops::to_vector<float>(read.optimizer[0].second), std::vector<float>(5, -value));
    }

    const TemporaryFolder temporary_;
    const std::string folder_ = base::join_path(temporary_.path(), "checkpoints");
    const std::string log_ = base::join_path(temporary_.path(), "log");
    Tensor weight_, moment_;
};

TEST_F(CheckpointWriterTest, WritesTheValuesOfTheCallWhileTheyChange) {
    io::CheckpointWriter writer(folder_, 2);
    train(1);
    writer.reserve(content(1));
    Gate gate;
    const base::FileHookScope scope(gate);
    begin(writer, 1);
    EXPECT_FALSE(writer.poll());
    train(2);
    gate.open();
    const auto written = writer.wait();
    ASSERT_TRUE(written);
    EXPECT_EQ(written->step, 1);
    const std::string path = io::checkpoint_path(folder_, 1);
    int64_t bytes = 0;
    for (const char* name : {"model.safetensors", "optimizer.safetensors", "manifest.json"}) {
        bytes += base::file_size(base::join_path(path, name));
    }
    EXPECT_EQ(written->bytes, bytes);
    EXPECT_FALSE(writer.wait());
    expect_whole(1, 1);
    begin(writer, 2);
    writer.wait();
    expect_whole(2, 2);
}

TEST_F(CheckpointWriterTest, OneIsUnderWayAtMost) {
    io::CheckpointWriter writer(folder_, 2);
    Gate gate;
    const base::FileHookScope scope(gate);
    begin(writer, 1);
    EXPECT_THROW(begin(writer, 2), Error);
    gate.open();
    EXPECT_EQ(writer.wait()->step, 1);
}

// Whatever operation fails, the caller hears of it, and the checkpoint before is whole until the next one is.
TEST_F(CheckpointWriterTest, EveryErrorComesOutAndTheOneBeforeStays) {
    io::CheckpointWriter writer(folder_, 1);
    train(1);
    begin(writer, 1);
    writer.wait();
    int64_t newest = 1;
    for (int64_t n = 0;; ++n) {
        ASSERT_LT(n, 200);
        const int64_t step = n + 2;
        train(static_cast<double>(step));
        base::FileFaults faults;
        faults.fail_from(n, ENOSPC);
        bool failed = false;
        {
            const base::FileHookScope scope(faults);
            begin(writer, step);
            try {
                writer.wait();
            } catch (const Error& error) {
                failed = true;
                EXPECT_EQ(error.code(), Code::file);
            }
        }
        const std::vector<int64_t> steps = io::committed_steps(folder_);
        ASSERT_FALSE(steps.empty()) << "operation " << n;
        EXPECT_TRUE(steps.back() == step || steps.back() == newest) << steps.back() << ", operation " << n;
        newest = steps.back();
        expect_whole(newest, static_cast<float>(newest));
        if (!failed) break;
    }
}

// A power cut after COMMIT must find the logs as long as the manifest says.
TEST_F(CheckpointWriterTest, LogsAreDurableBeforeTheCheckpointCounts) {
    base::FileFaults faults;
    {
        const base::FileHookScope scope(faults);
        io::CheckpointWriter writer(folder_, 1);
        begin(writer, 1);
        writer.wait();
    }
    const auto calls = faults.calls();
    const auto first = [&](FileOperation operation, const std::string& path) {
        const auto found = std::find_if(calls.begin(), calls.end(), [&](const auto& call) {
            return call.operation == operation && call.path == path;
        });
        EXPECT_NE(found, calls.end()) << base::operation_name(operation) << " " << path;
        return found;
    };
    const auto renamed = first(FileOperation::rename, base::join_path(folder_, "unfinished-step-1"));
    EXPECT_LT(first(FileOperation::sync, log_), renamed);
    EXPECT_LT(first(FileOperation::sync_directory, temporary_.path()), renamed);
    EXPECT_LT(renamed, first(FileOperation::sync_directory, folder_));
}

}  // namespace

}  // namespace tenon::tests
