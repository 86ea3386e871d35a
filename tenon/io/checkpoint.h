// Checkpoints: step-N folders of safetensors files with a manifest and a COMMIT.
//
//   step-40/model.safetensors      parameters
//           optimizer.safetensors  moments, "<parameter>.first_moment" …
//           manifest.json          format, step, files and tensors with SHA-256, state, lengths of the run's logs
//           COMMIT                 SHA-256 of manifest.json, in hex: written last
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/io/safetensors.h"

namespace tenon::io {

struct CheckpointContent {
    int64_t step = 0;
    NamedTensors model;
    NamedTensors optimizer;
    base::Json state;    // everything else that resuming needs
    base::Json lengths;  // bytes of the run's logs that belong to it: {"events.jsonl": n, …}
};

// Writes `folder`/step-N. The folder must exist; an uncommitted step-N is replaced, a committed one is an error. Gives
// the bytes of its files but COMMIT.
int64_t write_checkpoint(const std::string& folder, const CheckpointContent& content);

// Reads one checkpoint and checks every SHA-256. Errors name the file, and the tensor whose bytes differ.
CheckpointContent read_checkpoint(const std::string& path);
// Throws what read_checkpoint would, without keeping the tensors.
void verify_checkpoint(const std::string& path);

// Steps with a COMMIT, ascending. Other folders are no checkpoints.
std::vector<int64_t> committed_steps(const std::string& folder);
std::string checkpoint_path(const std::string& folder, int64_t step);

// The newest checkpoint that reads whole; newer ones that do not are named in `skipped`, one message each.
std::optional<CheckpointContent> read_newest(const std::string& folder, std::vector<std::string>& skipped);

// Removes committed checkpoints but the newest `keep`, and what interrupted writes left.
void prune_checkpoints(const std::string& folder, int64_t keep);

}  // namespace tenon::io
