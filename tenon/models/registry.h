// Families by model_type.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/config_schema.h"
#include "tenon/models/causal_lm.h"

namespace tenon::models {

struct Family {
    std::string_view model_type;
    // The keys of [model], with Hugging Face's class defaults.
    std::vector<base::ConfigKey> keys;
    // Fills in what depends on other keys and checks them against each other; errors name the place.
    void (*resolve)(base::ConfigSection& config);
    CausalLMSizes (*sizes)(const base::ConfigSection& config);
    std::unique_ptr<CausalLM> (*make)(const base::ConfigSection& config);
    // What Hugging Face's config.json says besides the keys above.
    base::Json (*hugging_face)(const base::ConfigSection& config);
};

const std::vector<Family>& families();
// Throws Error(usage, "config") with the nearest name.
const Family& family(std::string_view model_type);

// The [model] section of a config: model_type picks the family, whose keys are then checked and completed.
base::ConfigSection read_model_config(const base::TomlTable& table);
// What a config says of a model's sizes, without making it.
CausalLMSizes config_sizes(const base::ConfigSection& config);
// Hugging Face's config.json for parameters in f32: Transformers makes the same model from it.
base::Json hugging_face_config(const base::ConfigSection& config);
// On the default device, uninitialised.
std::unique_ptr<CausalLM> make_model(const base::ConfigSection& config);

}  // namespace tenon::models
