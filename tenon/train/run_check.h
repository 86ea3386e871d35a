// Whether the files of a run beside its checkpoints are what its newest whole checkpoint says.
#pragma once

#include <string>
#include <vector>

namespace tenon::train {

struct FileFinding {
    std::string file;  // its path
    bool good = true;
    std::string what;  // what was compared, or what is wrong
};

// run.json, tokenizer.json, events.jsonl, digests.bin. `checkpoint` is the newest whole checkpoint's path, empty where
// there is none: then they are only read.
std::vector<FileFinding> check_run_files(const std::string& run_path, const std::string& checkpoint);

}  // namespace tenon::train
