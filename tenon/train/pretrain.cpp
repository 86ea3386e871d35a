#include "tenon/train/pretrain.h"

#include <chrono>
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
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/run/environment.h"
#include "tenon/run/event_log.h"
#include "tenon/run/run_folder.h"
#include "tenon/text/pieces.h"
#include "tenon/text/trainer.h"
#include "tenon/train/interrupt.h"
#include "tenon/train/plan.h"
#include "tenon/train/progress.h"

namespace tenon::train {

namespace {

using base::Json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

LeafOrder leaf_order(const std::string& name) {
    if (name == "descending") return LeafOrder::descending;
    return name == "bit-reversed" ? LeafOrder::bit_reversed : LeafOrder::ascending;
}

ops::Tier tier(const std::string& name) {
    return static_cast<ops::Tier>(name[1] - '0');
}

}  // namespace

TrainerOptions trainer_options(const RunConfig& config) {
    TrainerOptions options;
    options.seed = static_cast<uint64_t>(config.train.integer("seed"));
    options.leaves = config.batch.integer("leaves");
    options.leaf_order = leaf_order(config.batch.string("leaf_order"));
    options.clip_norm = config.optim.real("clip_norm");
    options.adamw = {config.optim.real("beta1"), config.optim.real("beta2"), config.optim.real("eps"),
                     config.optim.real("weight_decay")};
    options.schedule = {optim::schedule_kind(config.schedule.string("kind")),
                        config.optim.real("learning_rate"),
                        config.schedule.integer("warmup_steps"),
                        config.train.integer("steps"),
                        config.schedule.real("final_share"),
                        config.schedule.real("decay_share")};
    return options;
}

namespace {

text::Tokenizer make_tokenizer(const RunConfig& config, std::string_view train_text) {
    if (config.tokenizer.has("path")) return text::Tokenizer::load(config.tokenizer.string("path"));
    base::log_info("training a tokenizer of " + std::to_string(config.tokenizer.integer("vocab_size")) + " on " +
                   base::human_bytes(static_cast<int64_t>(train_text.size())));
    text::TrainerOptions options;
    options.vocab_size = config.tokenizer.integer("vocab_size");
    return text::train_tokenizer(train_text, options);
}

StepPlan plan_run(const RunConfig& config) {
    return plan_step(config.model, trainer_options(config), config.batch.integer("sequences"),
                     config.batch.integer("length"));
}

// Said before anything is allocated.
void check_memory(const RunConfig& config) {
    const int64_t needed = plan_run(config).peak_memory;
    const int64_t available = base::memory_available();
    if (needed <= available || available <= 0) return;  // 0: the system does not say
    throw Error(Code::refused, "memory",
                "the step needs " + base::human_bytes(needed) + " and " + base::human_bytes(available) +
                    " are available; use more batch.leaves, a smaller batch or a smaller model");
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
          loader_(source_, {.seed = options_.seed, .batch = config_.batch.integer("sequences")}) {
        if (tokenizer_.size() > model_->sizes().vocabulary) {
            config_.model.fail("vocab_size", "is " + std::to_string(model_->sizes().vocabulary) +
                                                 " and the tokenizer has " + std::to_string(tokenizer_.size()) +
                                                 " entries");
        }
        if (!text.held_out().empty()) {
            held_out_ = std::make_unique<data::HeldOut>(text.held_out(), tokenizer_, config_.batch.integer("length"));
        }
        text_digest_ = text.digest();
        ops::set_minimum_tier(tier(config_.numerics.string("tier")));
    }

    void begin(run::RunFolder folder) {
        folder_ = std::make_unique<run::RunFolder>(std::move(folder));
        trainer_.initialize();
        tokenizer_.save(folder_->tokenizer());
        open_logs(0, 0);
        started_ = base::utc_now();
        write_record("running");
        const run::Digest start = TENON_FAULT(record_0_is_empty) ? run::Digest{} : trainer_.parameter_digest();
        ledger_->append({0, std::numeric_limits<float>::quiet_NaN(), {}, start});
    }

    // From the newest good checkpoint, or from the start where there is none.
    void resume(run::RunFolder folder, const Json& record) {
        check_unchanged(record);
        folder_ = std::make_unique<run::RunFolder>(std::move(folder));
        if (restore(record)) return;
        base::log_warning("[resume] " + folder_->path() + ": no checkpoint is left, so it begins again at step 0");
        begin(std::move(*folder_));
    }

    // To the last step, or to a signal. However it ends, run.json says so.
    PretrainResult run() {
        try {
            return run_steps();
        } catch (const std::exception& error) {
            base::set_progress_line("");
            record_failure(error.what());
            throw;
        }
    }

private:
    PretrainResult run_steps() {
        const InterruptScope interrupts;
        const int64_t steps = config_.train.integer("steps");
        const StepPlan plan = plan_run(config_);
        announce(plan);
        const double peak = cpu::measure_peak_flops(cpu::threads(), 0.2);
        Progress progress(trainer_.steps_done(), steps, config_.train.integer("log_every"), plan.flops, peak);
        while (trainer_.steps_done() < steps && InterruptScope::signal() == 0) one_step(progress);
        progress.finish();
        // The first look may have come while others had the machine.
        progress.saw_peak(cpu::measure_peak_flops(cpu::threads(), 0.2));
        result_.run_path = folder_->path();
        result_.steps_done = trainer_.steps_done();
        result_.tokens_per_second = progress.tokens_per_second();
        result_.share_of_peak = progress.share_of_peak();
        if (last_checkpoint_ != trainer_.steps_done()) write_checkpoint();
        if (trainer_.steps_done() == steps && held_out_) validate();
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

    // Checkpoints after the newest good one are damaged. They keep their bytes but not their names: the run comes to
    // those steps again.
    void set_aside_after(int64_t good_step) const {
        for (const int64_t step : io::committed_steps(folder_->checkpoints())) {
            if (step <= good_step) continue;
            const std::string path = io::checkpoint_path(folder_->checkpoints(), step);
            const std::string aside = base::join_path(folder_->checkpoints(), "damaged-step-" + std::to_string(step));
            base::remove_tree(aside);
            base::rename_path(path, aside);
            base::log_warning("[checkpoint] " + path + " is now " + aside);
        }
    }

    // False where there is no checkpoint.
    bool restore(const Json& record) {
        started_ = record.at("host").at("started").string();
        std::vector<std::string> skipped;
        const auto checkpoint = io::read_newest(folder_->checkpoints(), skipped);
        for (const std::string& message : skipped) base::log_warning(message);
        set_aside_after(checkpoint ? checkpoint->step : -1);
        if (!checkpoint) return false;
        trainer_.restore(checkpoint->step, checkpoint->model, checkpoint->optimizer);
        last_checkpoint_ = checkpoint->step;
        const base::JsonReader state(checkpoint->state, "manifest.json", "checkpoint");
        loader_.seek(state["loader_place"].integer());
        set_generator_state({static_cast<uint64_t>(state["generator_seed"].integer()),
                             static_cast<uint64_t>(state["generator_ordinal"].integer())});
        result_.first_loss = state["first_loss"].real();
        result_.last_loss = state["last_loss"].real();
        const base::JsonReader lengths(checkpoint->lengths, "manifest.json", "checkpoint");
        open_logs(lengths["events.jsonl"].integer(), lengths["digests.bin"].integer());
        base::log_info("resuming " + folder_->path() + " after step " + std::to_string(checkpoint->step));
        return true;
    }

    void open_logs(int64_t event_bytes, int64_t digest_bytes) {
        events_ = std::make_unique<run::EventLog>(folder_->events(), event_bytes);
        ledger_ = std::make_unique<run::DigestLedger>(folder_->digests(), digest_bytes);
    }

    void announce(const StepPlan& plan) const {
        base::log_info(base::human_count(static_cast<double>(plan.parameters)) + " parameters, " +
                       base::human_count(plan.flops) + "FLOP a step, peak memory " +
                       base::human_bytes(plan.peak_memory) + ", " + std::to_string(cpu::threads()) + " threads");
    }

    void one_step(Progress& progress) {
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
                                                                {"checkpoint", checkpoint_seconds_}})}}));
        checkpoint_seconds_ = 0;
        ledger_->append({report.step, report.loss, report.gradients, report.parameters});
        progress.step(report, seconds);
        const int64_t every = config_.checkpoint.integer("every");
        if (every > 0 && report.step % every == 0) write_checkpoint();
    }

    void write_checkpoint() {
        const auto start = Clock::now();
        events_->append(Json::object({{"event", "checkpoint"}, {"step", trainer_.steps_done()}}));
        events_->sync();
        ledger_->sync();
        const GeneratorState generator = generator_state();
        io::CheckpointContent content;
        content.step = trainer_.steps_done();
        content.model = trainer_.model_tensors();
        content.optimizer = trainer_.optimizer_tensors();
        if (TENON_FAULT(moments_not_saved)) {
            for (auto& [name, tensor] : content.optimizer) tensor = ops::zeros(tensor.shape());
        }
        content.state = Json::object({{"loader_place", loader_.place()},
                                      {"data", source_->digest()},
                                      {"generator_seed", static_cast<int64_t>(generator.seed)},
                                      {"generator_ordinal", static_cast<int64_t>(generator.ordinal)},
                                      {"first_loss", result_.first_loss},
                                      {"last_loss", result_.last_loss}});
        content.lengths = Json::object({{"events.jsonl", events_->size()}, {"digests.bin", ledger_->size()}});
        io::write_checkpoint(folder_->checkpoints(), content);
        io::prune_checkpoints(folder_->checkpoints(), config_.checkpoint.integer("keep"));
        last_checkpoint_ = content.step;
        checkpoint_seconds_ += seconds_since(start);
    }

    // Every held-out token but the first is predicted once, one window at a time, so the figure depends on no batch.
    void validate() {
        const ops::NoGrad guard;
        model_->set_training(false);
        const int64_t length = held_out_->length();
        std::vector<int64_t> inputs(static_cast<size_t>(length));
        std::vector<int64_t> targets(static_cast<size_t>(length));
        double nats = 0;
        for (int64_t i = 0; i < held_out_->samples(); ++i) {
            if (InterruptScope::signal() != 0) break;
            if (base::stderr_is_terminal()) {
                base::set_progress_line("validation " + std::to_string(i) + "/" + std::to_string(held_out_->samples()));
            }
            held_out_->read(i, inputs, targets);
            nats += ops::item(
                model_->loss(ops::from_values(inputs, {1, length}), ops::from_values(targets, {1, length}), 1));
        }
        base::set_progress_line("");
        if (InterruptScope::signal() != 0) return;
        result_.has_validation = true;
        result_.validation_nats = nats / static_cast<double>(held_out_->predictions());
        result_.validation_bits = held_out_->bits_per_byte(nats);
        events_->append(Json::object({{"event", "validation"},
                                      {"step", trainer_.steps_done()},
                                      {"nats_per_token", result_.validation_nats},
                                      {"bits_per_byte", result_.validation_bits},
                                      {"tokens", held_out_->predictions()}}));
    }

    Json inputs_json() const {
        return Json::object({{"text", text_digest_},
                             {"data", source_->digest()},
                             {"tokenizer", tokenizer_.digest()},
                             {"samples", source_->samples()},
                             {"pattern_engine", text::pattern_engine()}});
    }

    void check_unchanged(const Json& record) const {
        const Json now = inputs_json();
        for (const char* key : {"text", "tokenizer", "data"}) {
            if (record.at("inputs").at(key) == now.at(key)) continue;
            throw Error(Code::refused, "resume",
                        std::string("the ") + key + " is not what the run began with: its digest was " +
                            record.at("inputs").at(key).string() + " and is " + now.at(key).string());
        }
    }

    void write_record(const std::string& state, const std::string& failure = {}) const {
        Json host = run::machine_json();
        host.set("run", folder_->path());
        host.set("started", started_);
        if (state != "running") host.set("ended", base::utc_now());
        Json outcome = Json::object({{"state", state}, {"step", trainer_.steps_done()}});
        if (!failure.empty()) outcome.set("failure", failure);
        folder_->write_record(
            Json::object({{"format", 1},
                          {"recipe", "pretrain"},
                          {"config", config_.values_json()},
                          {"origins", config_.origins_json()},
                          {"inputs", inputs_json()},
                          {"contract", Json::object({{"leaves", options_.leaves},
                                                     {"k_blocks", config_.numerics.integer("k_blocks")},
                                                     {"tier", config_.numerics.string("tier")}})},
                          {"build", run::build_json()},
                          {"providers", run::providers_json()},
                          {"outcome", std::move(outcome)},
                          {"host", std::move(host)}}));
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
    std::string text_digest_;
    std::unique_ptr<run::EventLog> events_;
    std::unique_ptr<run::DigestLedger> ledger_;
    std::string started_;
    int64_t last_checkpoint_ = -1;
    double checkpoint_seconds_ = 0;  // since the last step's event
    PretrainResult result_;
};

}  // namespace

PretrainResult pretrain(const RunConfig& config, const std::string& run_path) {
    // What can fail without a folder fails before there is one.
    run::RunFolder::check_free(run_path);
    check_memory(config);
    const data::TextFile text(config.data.string("path"), config.data.real("held_out"));
    Pretraining training(config, make_tokenizer(config, text.train()), text);
    training.begin(run::RunFolder::create(run_path));
    return training.run();
}

PretrainResult resume_pretrain(const std::string& run_path) {
    run::RunFolder folder = run::RunFolder::open(run_path);
    const Json record = run::read_record(run_path);
    RunConfig config = recorded_run_config(record, base::join_path(run_path, "run.json"));
    check_memory(config);
    const data::TextFile text(config.data.string("path"), config.data.real("held_out"));
    text::Tokenizer tokenizer = text::Tokenizer::load(folder.tokenizer());
    Pretraining training(std::move(config), std::move(tokenizer), text);
    training.resume(std::move(folder), record);
    return training.run();
}

}  // namespace tenon::train
