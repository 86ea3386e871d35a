#include "tenon/models/registry.h"

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/models/gpt2.h"
#include "tenon/models/llama.h"

namespace tenon::models {

const std::vector<Family>& families() {
    static const std::vector<Family> all = {gpt2_family(), llama_family()};
    return all;
}

const Family& family(std::string_view model_type) {
    std::vector<std::string_view> names;
    for (const Family& each : families()) {
        if (each.model_type == model_type) return each;
        names.push_back(each.model_type);
    }
    throw Error(Code::usage, "config",
                "unknown model_type \"" + std::string(model_type) + "\"" + base::nearest_hint(model_type, names));
}

base::ConfigSection read_model_config(const base::TomlTable& table) {
    const base::TomlValue* type = table.find("model_type");
    if (type == nullptr) base::fail_at(table.place(), "[model] needs the key \"model_type\": the architecture family");
    std::vector<std::string_view> names;
    const Family* found = nullptr;
    for (const Family& each : families()) {
        names.push_back(each.model_type);
        if (each.model_type == type->string()) found = &each;
    }
    if (found == nullptr) type->fail("is \"" + type->string() + "\"" + base::nearest_hint(type->string(), names));
    base::ConfigSection config("model", table, found->keys);
    found->resolve(config);
    return config;
}

CausalLMSizes config_sizes(const base::ConfigSection& config) {
    return family(config.string("model_type")).sizes(config);
}

base::Json hugging_face_config(const base::ConfigSection& config) {
    base::Json json = family(config.string("model_type")).hugging_face(config);
    for (const auto& [key, value] : config.values()) json.set(key, value.value);
    // Transformers 5 calls it dtype and still reads this name.
    json.set("torch_dtype", "float32");
    return json;
}

std::unique_ptr<CausalLM> make_model(const base::ConfigSection& config) {
    return family(config.string("model_type")).make(config);
}

}  // namespace tenon::models
