// When a run writes checkpoints, and what its logs say of them.
#pragma once

#include <cstdint>

#include "tenon/base/json.h"
#include "tenon/io/checkpoint_writer.h"
#include "tenon/run/digest_ledger.h"
#include "tenon/run/event_log.h"
#include "tenon/run/run_folder.h"
#include "tenon/train/trainer.h"

namespace tenon::train {

struct CheckpointOptions {
    int64_t every = 0;  // steps; 0: on request only
    int64_t keep = 2;
};

// Training stands still while tensors are copied, and while the checkpoint before is not yet written. An error of the
// writing comes out of the next call; the destructor waits, and logs one that nobody asked for.
class Checkpointer {
public:
    // `saved_step`: that of the checkpoint from which the run goes on; -1 for none.
    Checkpointer(const run::RunFolder& folder, const Trainer& trainer, run::EventLog& events, run::DigestLedger& ledger,
                 CheckpointOptions options, int64_t saved_step);

    // After each step: writes a checkpoint where one is due or a SIGUSR1 asked for it. `state`: the rest of what
    // resuming needs.
    template <class State>
    void after_step(const State& state) {
        log_done(writer_.poll());
        if (is_due()) save(state());
    }
    // At the end: a checkpoint of the last step is there on return.
    template <class State>
    void finish(const State& state) {
        if (saved_step_ != trainer_.steps_done()) save(state());
        log_done(writer_.wait());
    }

    // Seconds for which training stood still, since the last call.
    double take_blocked_seconds();

private:
    bool is_due() const;
    void save(base::Json state);
    void log_done(const std::optional<io::WrittenCheckpoint>& written);

    const run::RunFolder& folder_;
    const Trainer& trainer_;
    run::EventLog& events_;
    run::DigestLedger& ledger_;
    const CheckpointOptions options_;
    io::CheckpointWriter writer_;
    int64_t saved_step_;
    double blocked_seconds_ = 0;  // of the checkpoint under way or written last
    double untaken_seconds_ = 0;
};

}  // namespace tenon::train
