// Checkpoints written while training goes on: the tensors are copied at the call, the files are written by a thread.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "tenon/io/checkpoint.h"

namespace tenon::io {

struct WrittenCheckpoint {
    int64_t step = 0;
    int64_t bytes = 0;
    double seconds = 0;  // from the start of the thread to the end of the pruning
};

// At most one checkpoint is under way. An error of its thread comes out of the next call; the one before it stays good.
// One caller at a time.
class CheckpointWriter {
public:
    // `folder`/step-N; once N is committed, all but the newest `keep` go.
    CheckpointWriter(std::string folder, int64_t keep);
    ~CheckpointWriter();  // waits; logs the error that nobody asked for
    CheckpointWriter(const CheckpointWriter&) = delete;
    CheckpointWriter& operator=(const CheckpointWriter&) = delete;

    // Takes the memory that copies of these tensors need, so that no begin() has to.
    void reserve(const CheckpointContent& content);

    // Copies the tensors and returns; `content` may change from then on. The logs, whose lengths the content states,
    // must be flushed: the thread makes them durable first. No checkpoint may be under way.
    void begin(CheckpointContent content, std::vector<std::string> logs);

    // The checkpoint that is done since the last look, if any; wait() stands still until the one under way is.
    std::optional<WrittenCheckpoint> poll();
    std::optional<WrittenCheckpoint> wait();

private:
    WrittenCheckpoint write(const CheckpointContent& content, const std::vector<std::string>& logs) const;

    const std::string folder_;
    const int64_t keep_;
    NamedTensors model_, optimizer_;  // the copies, used by every checkpoint in turn
    std::future<WrittenCheckpoint> writing_;
};

}  // namespace tenon::io
