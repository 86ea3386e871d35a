// The golden files of tests/golden/make/tokenizer.py.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/files.h"
#include "tenon/base/json.h"
#include "tenon/text/tokenizer.h"

namespace tenon::text {

inline std::string golden_path(const std::string& name) {
    return std::string(TENON_GOLDEN_DIR) + "/tokenizer/" + name;
}

struct Golden {
    base::Json json;
    std::string text;                   // what the vocabulary was learned from
    std::vector<std::string> specials;  // in order
    base::Json file;                    // the tokenizer.json that `tokenizers` saved

    explicit Golden(const std::string& name)
        : json(base::parse_json(base::read_file(golden_path(name + ".json")), name)),
          text(base::read_file(golden_path(json.at("text").string()))),
          file(base::parse_json(base::read_file(golden_path(name + ".tokenizer.json")), name)) {
        for (const base::Json& special : json.at("specials").array_value()) specials.push_back(special.string());
    }
};

inline std::vector<Token> golden_ids(const base::Json& json) {
    std::vector<Token> ids;
    for (const base::Json& id : json.array_value()) ids.push_back(static_cast<Token>(id.integer()));
    return ids;
}

}  // namespace tenon::text
