// What a checkpoint's folder holds and whether it is whole, found without loading it; nothing here writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/json.h"

namespace tenon::io {

// unfinished: its writing or its removal was interrupted, or goes on. set_aside: resuming found it damaged and renamed
// it.
enum class CheckpointState { committed, damaged, unfinished, set_aside };
std::string_view name_of(CheckpointState state) noexcept;

struct CheckpointDamage {
    std::string file;    // within the checkpoint
    std::string tensor;  // empty where no tensor's bytes are concerned
    std::string what;
};

struct CheckpointReport {
    std::string path;
    int64_t step = -1;  // by the folder's name; -1 where it says none
    CheckpointState state = CheckpointState::committed;
    int64_t bytes = 0;         // of all files
    int64_t written = 0;       // when it was committed, or last touched: milliseconds since 1970
    int64_t tensors = 0;       // by the manifest
    int64_t good_tensors = 0;  // whose bytes have their SHA-256; 0 at Depth::sizes
    std::vector<CheckpointDamage> damage;
};

// sizes: COMMIT against the manifest, and every file's size. bytes: every byte of every file.
enum class Depth { sizes, bytes };

// Throws Error(file) where there is no such folder. Damage is reported, never thrown.
CheckpointReport inspect_checkpoint(const std::string& path, Depth depth);
// Every folder that is or was to be a checkpoint, by step. One that a running process removes meanwhile is left out.
std::vector<CheckpointReport> inspect_checkpoints(const std::string& folder, Depth depth);

// The manifest that COMMIT vouches for. Throws Error(file) where it does not.
base::Json committed_manifest(const std::string& path);

// "model.safetensors: tensor "lm_head.weight": its bytes …"
std::string to_string(const CheckpointDamage& damage);

}  // namespace tenon::io
