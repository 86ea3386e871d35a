// A run's checkpoint as a folder that Hugging Face Transformers loads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::serve {

struct Exported {
    int64_t step = 0;
    std::vector<std::string> files;  // names within the folder
    int64_t bytes = 0;
};

// Writes model.safetensors, config.json, generation_config.json, tokenizer.json and tokenizer_config.json of a step, or
// of the newest good checkpoint. The folder must not exist; it is there whole or not at all. Needs no lock: a run may
// go on meanwhile.
Exported export_run(const std::string& run_path, const std::string& folder, std::optional<int64_t> step);

}  // namespace tenon::serve
