#include "tenon/serve/export.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/json.h"
#include "tenon/base/log.h"
#include "tenon/io/checkpoint.h"
#include "tenon/models/registry.h"
#include "tenon/ops/functions.h"
#include "tenon/run/run_folder.h"
#include "tenon/text/tokenizer.h"
#include "tenon/train/config.h"

namespace tenon::serve {

namespace {

using base::Json;

// The special token that ends a text, by the name that GPT-2 gave it.
constexpr std::string_view end_of_text = "<|endoftext|>";

std::string listed(const std::vector<int64_t>& steps) {
    std::string text;
    for (const int64_t step : steps) text += (text.empty() ? "" : ", ") + std::to_string(step);
    return text;
}

io::CheckpointContent read_content(const std::string& run_path, std::optional<int64_t> step) {
    const std::string folder = base::join_path(run_path, "checkpoints");
    const std::vector<int64_t> steps = io::committed_steps(folder);
    if (steps.empty()) throw Error(Code::file, "export", run_path + ": has no checkpoint yet");
    if (!step) {
        std::vector<std::string> skipped;
        auto newest = io::read_newest(folder, skipped);
        for (const std::string& message : skipped) base::log_warning(message);
        if (!newest) throw Error(Code::file, "export", run_path + ": no checkpoint of it is whole");
        return *std::move(newest);
    }
    if (std::find(steps.begin(), steps.end(), *step) == steps.end()) {
        throw Error(Code::file, "export",
                    run_path + ": has no checkpoint of step " + std::to_string(*step) + "; there are those of " +
                        listed(steps));
    }
    return io::read_checkpoint(io::checkpoint_path(folder, *step));
}

// Names and shapes must be those of the model that config.json describes.
void check_parameters(const base::ConfigSection& config, const io::NamedTensors& tensors) {
    const ops::DefaultDevice shapes_only(Device::meta);
    const auto model = models::make_model(config);
    const std::vector<nn::NamedParameter> parameters = model->parameters();
    bool same = parameters.size() == tensors.size();
    for (const nn::NamedParameter& each : parameters) {
        same = same && std::any_of(tensors.begin(), tensors.end(), [&](const auto& named) {
                   return named.first == each.name && named.second.shape() == each.tensor.shape();
               });
    }
    if (!same) throw Error(Code::file, "export", "the checkpoint's tensors are not those of its configuration");
}

text::Tokenizer read_tokenizer(const std::string& run_path, const Json& state) {
    const std::string path = base::join_path(run_path, "tokenizer.json");
    text::Tokenizer tokenizer = text::Tokenizer::load(path);
    if (tokenizer.digest() != base::JsonReader(state, "manifest.json", "export")["inputs"]["tokenizer"].string()) {
        throw Error(Code::refused, "export", path + " is not the tokenizer that the checkpoint was trained with");
    }
    return tokenizer;
}

// The id of the token that ends a text, or null: the families' own defaults name ids of other vocabularies.
void set_end(Json& json, const text::Tokenizer& tokenizer) {
    const auto id = tokenizer.special(end_of_text);
    for (const char* key : {"bos_token_id", "eos_token_id"}) json.set(key, id ? Json(*id) : Json());
    json.set("pad_token_id", nullptr);
}

Json generation_config(const text::Tokenizer& tokenizer) {
    // What `tenon generate` does by default: draw from the model's own distribution.
    Json json = Json::object({{"do_sample", true}, {"temperature", 1.0}, {"top_k", 0}, {"top_p", 1.0}});
    set_end(json, tokenizer);
    return json;
}

Json tokenizer_config(const text::Tokenizer& tokenizer, int64_t max_positions) {
    Json json = Json::object({{"tokenizer_class", "PreTrainedTokenizerFast"},
                              {"model_max_length", max_positions},
                              {"clean_up_tokenization_spaces", false}});
    if (tokenizer.special(end_of_text)) {
        for (const char* key : {"bos_token", "eos_token"}) json.set(key, end_of_text);
    }
    return json;
}

}  // namespace

Exported export_run(const std::string& run_path, const std::string& folder, std::optional<int64_t> step) {
    run::read_record(run_path);
    if (folder.empty()) throw Error(Code::usage, "export", "the folder to write has an empty name");
    if (base::exists(folder)) throw Error(Code::usage, "export", folder + ": exists already; give another folder");
    const io::CheckpointContent content = read_content(run_path, step);
    const base::JsonReader state(content.state, "manifest.json", "export");
    const base::ConfigSection model = train::recorded_model_config(state["config"]["model"].json(), "manifest.json");
    check_parameters(model, content.model);
    const text::Tokenizer tokenizer = read_tokenizer(run_path, content.state);
    Json config = models::hugging_face_config(model);
    set_end(config, tokenizer);

    std::string target = folder;
    while (target.size() > 1 && target.back() == '/') target.pop_back();
    const std::string parent = base::parent_path(target);
    const std::string unfinished = target + ".unfinished";
    base::make_directories(parent);
    base::remove_tree(unfinished);
    base::make_directory(unfinished);
    Exported exported{content.step, {}, 0};
    const auto done = [&](const std::string& name, int64_t bytes) {
        exported.files.push_back(name);
        exported.bytes += bytes;
    };
    const auto put = [&](const std::string& name, const std::string& text) {
        base::write_file_atomically(base::join_path(unfinished, name), text);
        done(name, static_cast<int64_t>(text.size()));
    };
    done("model.safetensors",
         io::write_safetensors(base::join_path(unfinished, "model.safetensors"), content.model, {{"format", "pt"}})
             .bytes);
    put("config.json", config.pretty() + "\n");
    put("generation_config.json", generation_config(tokenizer).pretty() + "\n");
    put("tokenizer.json", tokenizer.to_json());
    put("tokenizer_config.json",
        tokenizer_config(tokenizer, models::config_sizes(model).max_positions).pretty() + "\n");
    base::rename_path(unfinished, target);
    base::sync_directory(parent);
    return exported;
}

}  // namespace tenon::serve
