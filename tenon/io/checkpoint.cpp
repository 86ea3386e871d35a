#include "tenon/io/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/base/files.h"
#include "tenon/base/number.h"
#include "tenon/base/sha256.h"
#include "tenon/cpu/access.h"

namespace tenon::io {

namespace {

using base::Json;
using base::JsonReader;

constexpr int64_t newest_format = 1;
constexpr int64_t manifest_limit = int64_t{64} << 20;
constexpr const char* model_file = "model.safetensors";
constexpr const char* optimizer_file = "optimizer.safetensors";

std::string unfinished_path(const std::string& folder, int64_t step) {
    return base::join_path(folder, "unfinished-step-" + std::to_string(step));
}

std::optional<int64_t> step_of(const std::string& name, const std::string& prefix) {
    if (name.rfind(prefix, 0) != 0) return std::nullopt;
    return base::parse_integer(std::string_view(name).substr(prefix.size()));
}

bool is_committed(const std::string& path) {
    return base::exists(base::join_path(path, "COMMIT"));
}

// Writes one safetensors file and describes it in the manifest. Gives its bytes.
int64_t write_part(const std::string& folder, const std::string& name, const NamedTensors& tensors, Json& files,
                   Json& entries) {
    const WrittenFile written = write_safetensors(base::join_path(folder, name), tensors, {{"format", "pt"}});
    files.set(name, Json::object({{"bytes", written.bytes}, {"sha256", written.sha256}}));
    for (size_t i = 0; i < tensors.size(); ++i) {
        const auto& [tensor_name, tensor] = tensors[i];
        Json shape = Json::array();
        Json start = Json::array();
        for (const Dim size : tensor.shape()) {
            shape.push(size);
            start.push(0);
        }
        entries.push(Json::object({{"name", tensor_name},
                                   {"file", name},
                                   {"shape", shape},
                                   {"slice_start", std::move(start)},
                                   {"slice_shape", shape},
                                   {"dtype", name_of(tensor.dtype())},
                                   {"sha256", written.tensor_sha256[i]}}));
    }
    return written.bytes;
}

[[noreturn]] void broken(const std::string& path, const std::string& what) {
    throw Error(Code::file, "checkpoint", path + ": " + what);
}

Json read_manifest(const std::string& path) {
    const std::string file = base::join_path(path, "manifest.json");
    const std::string commit = base::join_path(path, "COMMIT");
    if (!base::exists(commit)) broken(path, "has no COMMIT: its writing was interrupted");
    for (const char* name : {"manifest.json", model_file, optimizer_file}) {
        if (!base::exists(base::join_path(path, name))) broken(path, std::string(name) + " is missing");
    }
    const std::string text = base::read_file(file, manifest_limit);
    std::string expected = base::read_file(commit, 1024);
    if (!expected.empty() && expected.back() == '\n') expected.pop_back();
    if (base::sha256_hex(text) != expected) broken(path, "manifest.json does not have the SHA-256 that COMMIT says");
    return base::parse_json(text, file, {manifest_limit, 32});
}

// The tensors of one file, each checked against the manifest.
NamedTensors read_part(const std::string& path, const std::string& name, const JsonReader& manifest) {
    const std::string file = base::join_path(path, name);
    const JsonReader expected = manifest["files"][name];
    NamedTensors tensors = read_safetensors(file);
    size_t next = 0;
    for (const JsonReader& entry : manifest["tensors"].elements()) {
        if (entry["file"].string() != name) continue;
        const std::string& tensor_name = entry["name"].string();
        if (next >= tensors.size() || tensors[next].first != tensor_name) {
            broken(file, "tensor \"" + tensor_name + "\" is not where the manifest has it");
        }
        const Tensor& tensor = tensors[next++].second;
        if (TENON_FAULT(checkpoint_unchecked)) continue;
        base::Sha256 hash;
        hash.update(cpu::data<>(tensor), tensor.numel() * size_of(tensor.dtype()));
        if (hash.finish_hex() != entry["sha256"].string()) {
            broken(path, name + " fails its checksum at tensor \"" + tensor_name + "\"");
        }
    }
    if (next != tensors.size()) broken(file, "tensor \"" + tensors[next].first + "\" is not in the manifest");
    if (!TENON_FAULT(checkpoint_unchecked) && base::sha256_hex_of_file(file) != expected["sha256"].string()) {
        broken(path, name + " fails its checksum in its header");
    }
    return tensors;
}

}  // namespace

std::string checkpoint_path(const std::string& folder, int64_t step) {
    return base::join_path(folder, "step-" + std::to_string(step));
}

int64_t write_checkpoint(const std::string& folder, const CheckpointContent& content) {
    const std::string final_path = checkpoint_path(folder, content.step);
    if (base::exists(final_path)) {
        if (is_committed(final_path)) broken(final_path, "exists already");
        base::remove_tree(final_path);
    }
    const std::string path = TENON_FAULT(commit_comes_first) ? final_path : unfinished_path(folder, content.step);
    base::remove_tree(path);
    base::make_directory(path);
    Json files = Json::object();
    Json tensors = Json::array();
    int64_t bytes = write_part(path, model_file, content.model, files, tensors);
    bytes += write_part(path, optimizer_file, content.optimizer, files, tensors);
    const Json manifest = Json::object({{"format", newest_format},
                                        {"step", content.step},
                                        {"files", std::move(files)},
                                        {"tensors", std::move(tensors)},
                                        {"state", content.state},
                                        {"lengths", content.lengths}});
    const std::string text = manifest.pretty() + "\n";
    bytes += static_cast<int64_t>(text.size());
    if (TENON_FAULT(commit_comes_first)) {
        base::write_file_atomically(base::join_path(path, "COMMIT"), base::sha256_hex(text) + "\n");
    }
    base::write_file_atomically(base::join_path(path, "manifest.json"), text);
    base::sync_directory(path);
    base::rename_path(path, final_path);
    base::sync_directory(folder);
    if (TENON_FAULT(commit_left_out)) return bytes;
    base::write_file_atomically(base::join_path(final_path, "COMMIT"), base::sha256_hex(text) + "\n");
    return bytes;
}

CheckpointContent read_checkpoint(const std::string& path) {
    const Json json = read_manifest(path);
    const JsonReader manifest(json, base::join_path(path, "manifest.json"), "checkpoint");
    manifest.format(newest_format);
    manifest.only({"format", "step", "files", "tensors", "state", "lengths"});
    CheckpointContent content;
    content.step = manifest["step"].integer();
    content.model = read_part(path, model_file, manifest);
    content.optimizer = read_part(path, optimizer_file, manifest);
    content.state = manifest["state"].json();
    content.lengths = manifest["lengths"].json();
    return content;
}

void verify_checkpoint(const std::string& path) {
    read_checkpoint(path);
}

std::vector<int64_t> committed_steps(const std::string& folder) {
    std::vector<int64_t> steps;
    if (!base::exists(folder)) return steps;
    for (const std::string& name : base::list_directory(folder)) {
        const auto step = step_of(name, "step-");
        if (step && is_committed(base::join_path(folder, name))) steps.push_back(*step);
    }
    std::sort(steps.begin(), steps.end());
    return steps;
}

std::optional<CheckpointContent> read_newest(const std::string& folder, std::vector<std::string>& skipped) {
    std::vector<int64_t> steps = committed_steps(folder);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        try {
            return read_checkpoint(checkpoint_path(folder, *step));
        } catch (const Error& error) {
            // A newer format, a lack of memory or a failing disk say nothing against the checkpoint.
            if (error.code() != Code::file || error.op() == "file") throw;
            skipped.emplace_back(error.what());
        }
    }
    return std::nullopt;
}

void prune_checkpoints(const std::string& folder, int64_t keep) {
    const std::vector<int64_t> steps = committed_steps(folder);
    for (size_t i = 0; i + static_cast<size_t>(keep) < steps.size(); ++i) {
        const std::string path = checkpoint_path(folder, steps[i]);
        // COMMIT goes first: a folder half removed is then no checkpoint.
        base::remove_file(base::join_path(path, "COMMIT"));
        base::remove_tree(path);
    }
    for (const std::string& name : base::list_directory(folder)) {
        const std::string path = base::join_path(folder, name);
        if (step_of(name, "unfinished-step-") || (step_of(name, "step-") && !is_committed(path)))
            base::remove_tree(path);
    }
}

}  // namespace tenon::io
