// A run's configuration: one typed tree, read from strict TOML, each value with its origin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/config_schema.h"
#include "tenon/base/json.h"

namespace tenon::train {

struct RunConfig {
    base::ConfigSection model, data, tokenizer, batch, optim, schedule, train, checkpoint, numerics;

    std::vector<base::ConfigSection*> sections();
    std::vector<const base::ConfigSection*> sections() const;
    // {"model": {"hidden_size": 256, …}, …} and the same tree of origins.
    base::Json values_json() const;
    base::Json origins_json() const;
};

// What each section but [model] may hold; the keys of [model] are its family's (models::families()).
struct SectionKeys {
    std::string_view section;
    std::vector<base::ConfigKey> keys;
};
std::vector<SectionKeys> section_keys();

// Reads `path`, applies the overrides ("key=value"), checks everything that can be checked without the data.
RunConfig read_run_config(const std::string& path, const std::vector<std::string>& overrides);
// The configuration that a run recorded, each value with the origin it had: "config" and "origins" of its run.json;
// then the overrides. `where` names the file in errors.
RunConfig recorded_run_config(const base::Json& record, const std::string& where,
                              const std::vector<std::string>& overrides = {});

// A [model] section alone, from JSON: {"model_type": …, …}, as in Hugging Face's config.json.
base::ConfigSection recorded_model_config(const base::Json& values, const std::string& where);

// The default number of leaves: the largest power of two that divides `sequences` and leaves at least 512 tokens a
// leaf; at least 1.
int64_t default_leaves(int64_t sequences, int64_t length);

}  // namespace tenon::train
