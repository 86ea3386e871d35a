#include "tenon/serve/generator.h"

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/log.h"
#include "tenon/io/checkpoint.h"
#include "tenon/models/registry.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/run/run_folder.h"
#include "tenon/train/config.h"
#include "tenon/train/trainer.h"

namespace tenon::serve {

Generator::Generator(std::unique_ptr<models::CausalLM> model, text::Tokenizer tokenizer)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {
    model_->set_training(false);
}

Generator Generator::from_run(const std::string& run_path) {
    const base::Json record = run::read_record(run_path);
    const train::RunConfig config = train::recorded_run_config(record, base::join_path(run_path, "run.json"));
    std::vector<std::string> skipped;
    const auto checkpoint = io::read_newest(base::join_path(run_path, "checkpoints"), skipped);
    for (const std::string& message : skipped) base::log_warning(message);
    if (!checkpoint) throw Error(Code::file, "generate", run_path + ": has no checkpoint yet");
    auto model = models::make_model(config.model);
    text::Tokenizer tokenizer = text::Tokenizer::load(base::join_path(run_path, "tokenizer.json"));
    if (tokenizer.digest() != record.at("inputs").at("tokenizer").string()) {
        throw Error(
            Code::refused, "generate",
            base::join_path(run_path, "tokenizer.json") + " is not the tokenizer that the run was trained with");
    }
    io::NamedTensors into;
    for (const nn::NamedParameter& each : model->parameters()) into.emplace_back(each.name, each.tensor);
    train::load_tensors(into, checkpoint->model, "the model");
    return Generator(std::move(model), std::move(tokenizer));
}

void Generator::generate(std::string_view prompt, int64_t tokens, const SamplingOptions& options,
                         const std::function<bool(std::string_view)>& emit) {
    check_sampling(options);
    if (tokens < 0) throw Error(Code::usage, "generate", "the number of tokens must be at least 0");
    const ops::NoGrad guard;
    const int64_t context = model_->sizes().max_positions;
    std::vector<text::Token> all = tokenizer_.encode(prompt.empty() ? "\n" : prompt);
    if (static_cast<int64_t>(all.size()) > context) {
        throw Error(Code::usage, "generate",
                    "the prompt has " + std::to_string(all.size()) + " tokens and the model's context is " +
                        std::to_string(context));
    }
    text::TextStream stream(tokenizer_);
    models::KvCache cache = model_->make_cache(1, context);
    std::vector<text::Token> fresh = all;
    for (int64_t i = 0; i < tokens; ++i) {
        if (cache.length + static_cast<int64_t>(fresh.size()) > context) {
            forgot_ = true;
            fresh.assign(all.end() - std::max<int64_t>(context / 2, 1), all.end());
            cache = model_->make_cache(1, context);
        }
        const std::vector<float> logits = next_logits(fresh, cache);
        const std::span<const float> known(logits.data(), static_cast<size_t>(tokenizer_.size()));
        const auto next = static_cast<text::Token>(sample_token(known, options, static_cast<int64_t>(all.size())));
        all.push_back(next);
        fresh = {next};
        const std::string piece = stream.push(next);
        if (!piece.empty() && !emit(piece)) return;
    }
    const std::string rest = stream.finish();
    if (!rest.empty()) emit(rest);
}

std::vector<float> Generator::next_logits(const std::vector<text::Token>& tokens, models::KvCache& cache) {
    const std::vector<int64_t> ids(tokens.begin(), tokens.end());
    const auto length = static_cast<int64_t>(ids.size());
    const Tensor states = model_->hidden(ops::from_values(ids, {1, length}), &cache);
    const Tensor logits = ops::linear(ops::narrow(states, 1, length - 1, 1), model_->head());
    return ops::to_vector<float>(ops::reshape(logits, {-1}));
}

}  // namespace tenon::serve
