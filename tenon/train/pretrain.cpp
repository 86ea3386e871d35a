#include "tenon/train/pretrain.h"

#include <algorithm>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/base/files.h"
#include "tenon/base/log.h"
#include "tenon/base/number.h"
#include "tenon/base/process.h"
#include "tenon/core/random.h"
#include "tenon/cpu/peak.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/data/text_file.h"
#include "tenon/data/token_windows.h"
#include "tenon/io/checkpoint.h"
#include "tenon/models/registry.h"
#include "tenon/ops/dispatch.h"
#include "tenon/run/event_log.h"
#include "tenon/run/run_folder.h"
#include "tenon/text/pieces.h"
#include "tenon/text/trainer.h"
#include "tenon/train/checkpointer.h"
#include "tenon/train/interrupt.h"
#include "tenon/train/plan.h"
#include "tenon/train/progress.h"
#include "tenon/train/run_record.h"
#include "tenon/train/validation.h"

namespace tenon::train {

namespace {

using base::Clock;
using base::Json;
using base::seconds_since;

ops::Tier tier(const std::string& name) {
    return static_cast<ops::Tier>(name[1] - '0');
}

text::Tokenizer make_tokenizer(const RunConfig& config, std::string_view train_text) {
    if (config.tokenizer.has("path")) return text::Tokenizer::load(config.tokenizer.string("path"));
    base::log_info("training a tokenizer of " + std::to_string(config.tokenizer.integer("vocab_size")) + " on " +
                   base::human_bytes(static_cast<int64_t>(train_text.size())));
    text::TrainerOptions options;
    options.vocab_size = config.tokenizer.integer("vocab_size");
    return text::train_tokenizer(train_text, options);
}

// Checkpoints after the newest good one are damaged. They keep their bytes but not their names: the run comes to
// those steps again.
void set_aside_after(int64_t good_step, const std::string& folder) {
    for (const int64_t step : io::committed_steps(folder)) {
        if (step <= good_step) continue;
        const std::string path = io::checkpoint_path(folder, step);
        const std::string aside = base::join_path(folder, "damaged-step-" + std::to_string(step));
        base::remove_tree(aside);
        base::rename_path(path, aside);
        base::log_warning("[checkpoint] " + path + " is now " + aside);
    }
}

// Everything a run consists of while it runs.
class Pretraining {
public:
    Pretraining(RunConfig config, text::Tokenizer tokenizer, const data::TextFile& text)
        : config_(std::move(config)),
          tokenizer_(std::move(tokenizer)),
          source_(std::make_shared<data::TextSource>(text.train(), tokenizer_, config_.batch.integer("length"))),
          options_(trainer_options(config_)),
          model_(models::make_model(config_.model)),
          trainer_(
              *model_, [this](const Tensor& x, const Tensor& y, double divisor) { return model_->loss(x, y, divisor); },
              options_),
          loader_(source_, {.seed = options_.seed, .batch = config_.batch.integer("sequences")}),
          record_(config_, Json::object({{"text", text.digest()},
                                         {"data", source_->digest()},
                                         {"tokenizer", tokenizer_.digest()},
                                         {"samples", source_->samples()},
                                         {"pattern_engine", text::pattern_engine()}})) {
        if (tokenizer_.size() > model_->sizes().vocabulary) {
            config_.model.fail("vocab_size", "is " + std::to_string(model_->sizes().vocabulary) +
                                                 " and the tokenizer has " + std::to_string(tokenizer_.size()) +
                                                 " entries");
        }
        if (!text.held_out().empty()) {
            held_out_ = std::make_unique<data::HeldOut>(text.held_out(), tokenizer_, config_.batch.integer("length"));
        }
        ops::set_minimum_tier(tier(config_.numerics.string("tier")));
    }

    void begin(run::RunFolder folder) {
        folder_ = std::make_unique<run::RunFolder>(std::move(folder));
        trainer_.initialize();
        tokenizer_.save(folder_->tokenizer());
        open_logs(0, 0);
        record_.begin();
        write_record("running");
        const run::Digest start = TENON_FAULT(record_0_is_empty) ? run::Digest{} : trainer_.parameter_digest();
        ledger_->append({0, std::numeric_limits<float>::quiet_NaN(), {}, start});
    }

    // From the newest good checkpoint, or from the start where there is none.
    void resume(run::RunFolder folder, const Json& record, const ResumeOptions& options) {
        const auto start = Clock::now();
        folder_ = std::make_unique<run::RunFolder>(std::move(folder));
        std::vector<std::string> skipped;
        const auto checkpoint = io::read_newest(folder_->checkpoints(), skipped);
        for (const std::string& message : skipped) base::log_warning(message);
        check_changes(record, checkpoint, options);
        set_aside_after(checkpoint ? checkpoint->step : -1, folder_->checkpoints());
        record_.go_on(record);
        record_.add_resume(checkpoint ? checkpoint->step : 0, options.allow, options.sets);
        if (checkpoint) {
            restore(*checkpoint);
            write_record("running");
            events_->append(Json::object({{"event", "resume"},
                                          {"step", checkpoint->step},
                                          {"seconds", Json::object({{"restore", seconds_since(start) - repeat_seconds_},
                                                                    {"repeat", repeat_seconds_}})}}));
            base::log_info("resuming " + folder_->path() + " after step " + std::to_string(checkpoint->step));
            return;
        }
        base::log_warning("[resume] " + folder_->path() + ": no checkpoint is left, so it begins again at step 0");
        begin(std::move(*folder_));
    }

    // To the last step, or to a signal. However it ends, run.json says so.
    PretrainResult run() {
        try {
            Checkpointer checkpointer(*folder_, trainer_, *events_, *ledger_,
                                      {config_.checkpoint.integer("every"), config_.checkpoint.integer("keep")},
                                      saved_step_);
            return run_steps(checkpointer);
        } catch (const std::exception& error) {
            base::set_progress_line("");
            record_failure(error.what());
            throw;
        }
    }

private:
    PretrainResult run_steps(Checkpointer& checkpointer) {
        const InterruptScope interrupts;
        const int64_t steps = config_.train.integer("steps");
        const StepPlan plan = plan_run(config_);
        announce(plan);
        const double peak = cpu::measure_peak_flops(cpu::threads(), 0.2);
        Progress progress(trainer_.steps_done(), steps, config_.train.integer("log_every"), plan.flops, peak);
        const auto state = [this] { return resume_state(); };
        while (trainer_.steps_done() < steps && InterruptScope::signal() == 0) {
            one_step(progress, checkpointer.take_blocked_seconds());
            checkpointer.after_step(state);
        }
        progress.finish();
        // The first look may have come while others had the machine.
        progress.saw_peak(cpu::measure_peak_flops(cpu::threads(), 0.2));
        result_.run_path = folder_->path();
        result_.steps_done = trainer_.steps_done();
        result_.tokens_per_second = progress.tokens_per_second();
        result_.share_of_peak = progress.share_of_peak();
        checkpointer.finish(state);
        if (trainer_.steps_done() == steps && held_out_) run_validation();
        result_.signal = InterruptScope::signal();
        write_record(result_.signal == 0 ? "completed" : "interrupted");
        return result_;
    }

    // The disk that failed the run may fail the record, too.
    void record_failure(const std::string& message) {
        try {
            write_record("failed", message);
        } catch (const std::exception& error) {
            base::log_warning(std::string("run.json could not be written: ") + error.what());
        }
    }

    void write_record(const std::string& state, const std::string& failure = {}) const {
        record_.write(*folder_, state, trainer_.steps_done(), failure);
    }

    // Nothing is written before this returns.
    void check_changes(const Json& record, const std::optional<io::CheckpointContent>& checkpoint,
                       const ResumeOptions& options) {
        std::vector<Change> found = changes(checkpoint ? checkpoint->state : record, record_.origin());
        const bool repeats = checkpoint && checkpoint->step > 0 && found.empty() && repeats_from_start(record);
        if (repeats) {
            if (const auto reason = differs_at_step_1()) found.push_back({"numerics", *reason});
        }
        // What was allowed at this very step needs no second word when the run was killed before its next checkpoint.
        if (checkpoint && changes(record, record_.origin()).empty()) {
            const std::vector<std::string> before = allowed_at(checkpoint->step, record);
            std::erase_if(found, [&](const Change& each) {
                return std::find(before.begin(), before.end(), each.name) != before.end();
            });
        }
        check_allowed(found, options.allow, repeats);
        if (checkpoint && checkpoint->step > 0 && !repeats) {
            base::log_info("the run has changed since its first step, so numerics are not compared");
        }
        if (checkpoint && checkpoint->step > config_.train.integer("steps")) {
            throw Error(Code::refused, "resume",
                        "train.steps is " + std::to_string(config_.train.integer("steps")) + " and step " +
                            std::to_string(checkpoint->step) + " is done");
        }
    }

    // Does step 1 again, from nothing: whether this program computes what the one did that began the run.
    std::optional<std::string> differs_at_step_1() {
        const auto began = Clock::now();
        const std::vector<run::DigestRecord> records = run::read_digests(folder_->digests());
        trainer_.initialize();
        const run::Digest start = trainer_.parameter_digest();
        const StepReport again = trainer_.step(loader_.next());
        repeat_seconds_ = seconds_since(began);
        return difference_from_record(records, start, {again.step, again.loss, again.gradients, again.parameters});
    }

    void restore(const io::CheckpointContent& checkpoint) {
        trainer_.restore(checkpoint.step, checkpoint.model, checkpoint.optimizer);
        saved_step_ = checkpoint.step;
        const base::JsonReader state(checkpoint.state, "manifest.json", "checkpoint");
        loader_.seek(state["loader_place"].integer());
        set_generator_state({static_cast<uint64_t>(state["generator_seed"].integer()),
                             static_cast<uint64_t>(state["generator_ordinal"].integer())});
        result_.first_loss = state["first_loss"].real();
        result_.last_loss = state["last_loss"].real();
        const base::JsonReader lengths(checkpoint.lengths, "manifest.json", "checkpoint");
        open_logs(lengths["events.jsonl"].integer(), lengths["digests.bin"].integer());
    }

    // What restore() needs besides tensors, and what check_changes() compares.
    Json resume_state() const {
        const GeneratorState generator = generator_state();
        Json state = record_.origin();
        state.set("loader_place", loader_.place());
        state.set("generator_seed", static_cast<int64_t>(generator.seed));
        state.set("generator_ordinal", static_cast<int64_t>(generator.ordinal));
        state.set("first_loss", result_.first_loss);
        state.set("last_loss", result_.last_loss);
        return state;
    }

    void open_logs(int64_t event_bytes, int64_t digest_bytes) {
        events_ = std::make_unique<run::EventLog>(folder_->events(), event_bytes);
        ledger_ = std::make_unique<run::DigestLedger>(folder_->digests(), digest_bytes);
    }

    void announce(const StepPlan& plan) const {
        base::log_info(base::human_count(static_cast<double>(plan.parameters)) + " parameters, " +
                       base::human_count(plan.flops) + "FLOP a step, peak memory " +
                       base::human_bytes(plan.peak_memory + plan.snapshot_memory) + ", " +
                       std::to_string(cpu::threads()) + " threads");
    }

    // blocked_seconds: what checkpoints took since the last step.
    void one_step(Progress& progress, double blocked_seconds) {
        const auto start = Clock::now();
        const data::Batch batch = loader_.next();
        const StepReport report = trainer_.step(batch);
        const double seconds = seconds_since(start);
        if (report.step == 1) result_.first_loss = report.loss;
        result_.last_loss = report.loss;
        events_->append(Json::object({{"event", "step"},
                                      {"step", report.step},
                                      {"loss", report.loss},
                                      {"grad_norm", report.grad_norm},
                                      {"lr", report.rate},
                                      {"tokens", report.tokens},
                                      {"samples", Json(batch.samples)},
                                      {"seconds", Json::object({{"step", seconds},
                                                                {"data", batch.waited},
                                                                {"forward", report.seconds.forward},
                                                                {"backward", report.seconds.backward},
                                                                {"optimizer", report.seconds.optimizer},
                                                                {"checkpoint", blocked_seconds}})}}));
        ledger_->append({report.step, report.loss, report.gradients, report.parameters});
        progress.step(report, seconds);
    }

    void run_validation() {
        const auto validation = validate(*model_, *held_out_);
        if (!validation) return;
        result_.has_validation = true;
        result_.validation_nats = validation->nats_per_token;
        result_.validation_bits = validation->bits_per_byte;
        events_->append(Json::object({{"event", "validation"},
                                      {"step", trainer_.steps_done()},
                                      {"nats_per_token", validation->nats_per_token},
                                      {"bits_per_byte", validation->bits_per_byte},
                                      {"tokens", validation->tokens}}));
    }

    RunConfig config_;
    std::unique_ptr<run::RunFolder> folder_;
    text::Tokenizer tokenizer_;
    std::shared_ptr<const data::TextSource> source_;
    std::unique_ptr<data::HeldOut> held_out_;
    TrainerOptions options_;
    std::unique_ptr<models::CausalLM> model_;
    Trainer trainer_;
    data::Loader loader_;
    RunRecord record_;
    std::unique_ptr<run::EventLog> events_;
    std::unique_ptr<run::DigestLedger> ledger_;
    int64_t saved_step_ = -1;
    double repeat_seconds_ = 0;  // of step 1, done again
    PretrainResult result_;
};

}  // namespace

PretrainResult pretrain(const RunConfig& config, const std::string& run_path) {
    const CheckpointRequestScope requests;
    // What can fail without a folder fails before there is one.
    run::RunFolder::check_free(run_path);
    check_memory(config);
    const data::TextFile text(config.data.string("path"), config.data.real("held_out"));
    Pretraining training(config, make_tokenizer(config, text.train()), text);
    training.begin(run::RunFolder::create(run_path));
    return training.run();
}

PretrainResult resume_pretrain(const std::string& run_path, const ResumeOptions& options) {
    const CheckpointRequestScope requests;
    check_change_names(options.allow);
    run::RunFolder folder = run::RunFolder::open(run_path);
    const Json record = run::read_record(run_path);
    RunConfig config = recorded_run_config(record, base::join_path(run_path, "run.json"), options.sets);
    check_memory(config);
    const data::TextFile text(config.data.string("path"), config.data.real("held_out"));
    text::Tokenizer tokenizer = text::Tokenizer::load(folder.tokenizer());
    Pretraining training(std::move(config), std::move(tokenizer), text);
    training.resume(std::move(folder), record, options);
    return training.run();
}

}  // namespace tenon::train
