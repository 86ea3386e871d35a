#include "tenon/train/checkpointer.h"

#include <utility>

#include "tenon/base/fault.h"
#include "tenon/base/process.h"
#include "tenon/ops/functions.h"
#include "tenon/train/interrupt.h"

namespace tenon::train {

namespace {

using base::Json;

io::CheckpointContent tensors_of(const Trainer& trainer) {
    io::CheckpointContent content;
    content.step = trainer.steps_done();
    content.model = trainer.model_tensors();
    content.optimizer = trainer.optimizer_tensors();
    if (TENON_FAULT(moments_not_saved)) {
        for (auto& [name, tensor] : content.optimizer) tensor = ops::zeros(tensor.shape());
    }
    return content;
}

}  // namespace

Checkpointer::Checkpointer(const run::RunFolder& folder, const Trainer& trainer, run::EventLog& events,
                           run::DigestLedger& ledger, CheckpointOptions options, int64_t saved_step)
    : folder_(folder),
      trainer_(trainer),
      events_(events),
      ledger_(ledger),
      options_(options),
      writer_(folder.checkpoints(), options.keep),
      saved_step_(saved_step) {
    writer_.reserve(tensors_of(trainer));
}

bool Checkpointer::is_due() const {
    const int64_t step = trainer_.steps_done();
    const bool requested = CheckpointRequestScope::take();
    return (requested && saved_step_ != step) || (options_.every > 0 && step % options_.every == 0);
}

void Checkpointer::save(Json state) {
    const auto start = base::Clock::now();
    log_done(writer_.wait());
    io::CheckpointContent content = tensors_of(trainer_);
    content.state = std::move(state);
    content.lengths = Json::object({{"events.jsonl", events_.size()}, {"digests.bin", ledger_.size()}});
    writer_.begin(std::move(content), {folder_.events(), folder_.digests()});
    saved_step_ = trainer_.steps_done();
    blocked_seconds_ = base::seconds_since(start);
    untaken_seconds_ += blocked_seconds_;
}

// After the step at which it was noticed, and so never within the lengths that the checkpoint itself states.
void Checkpointer::log_done(const std::optional<io::WrittenCheckpoint>& written) {
    if (!written) return;
    events_.append(
        Json::object({{"event", "checkpoint"},
                      {"step", written->step},
                      {"bytes", written->bytes},
                      {"seconds", Json::object({{"blocked", blocked_seconds_}, {"write", written->seconds}})}}));
}

double Checkpointer::take_blocked_seconds() {
    return std::exchange(untaken_seconds_, 0);
}

}  // namespace tenon::train
