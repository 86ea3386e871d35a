#include "tenon/io/tensor_source.h"

#include <cstring>
#include <map>

#include "tenon/base/error.h"
#include "tenon/base/json.h"
#include "tenon/base/nearest.h"
#include "tenon/cpu/access.h"
#include "tenon/io/checkpoint_report.h"

namespace tenon::io {

namespace {

constexpr std::string_view suffix = ".safetensors";

bool is_tensor_file(std::string_view name) {
    return name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
}

}  // namespace

TensorSource::TensorSource(const std::string& path) : path_(path) {
    if (!base::exists(path)) throw Error(Code::file, "checkpoint", path + ": there is no such file or folder");
    if (!base::is_directory(path)) {
        open(path);
        return;
    }
    for (const std::string& name : base::list_directory(path)) {
        if (is_tensor_file(name) && !base::is_unfinished(name)) open(base::join_path(path, name));
    }
    if (files_.empty()) throw Error(Code::file, "checkpoint", path + ": has no .safetensors file");
    read_manifest();
}

void TensorSource::open(const std::string& file) {
    files_.emplace_back(file);
    for (SafetensorsEntry& entry : read_safetensors_header(files_.back().text(), file).entries) {
        if (!index_.emplace(entry.name, tensors_.size()).second) {
            throw Error(Code::file, "checkpoint", path_ + ": two files hold a tensor \"" + entry.name + "\"");
        }
        tensors_.push_back({std::move(entry.name), file, entry.dtype, std::move(entry.shape), ""});
        places_.push_back({files_.size() - 1, entry.begin, entry.end});
    }
}

// The SHA-256 of each tensor, where the manifest is the committed one.
void TensorSource::read_manifest() {
    const std::string file = base::join_path(path_, "manifest.json");
    const bool committed = base::exists(base::join_path(path_, "COMMIT"));
    if (!committed && !base::exists(file)) return;  // a folder of another kind
    const CheckpointReport report = inspect_checkpoint(path_, Depth::sizes);
    for (const CheckpointDamage& each : report.damage) doubts_.push_back(to_string(each));
    if (!committed) doubts_.emplace_back("has no COMMIT: its writing or its removal was interrupted, or goes on");
    if (!doubts_.empty()) return;
    const base::Json json = committed_manifest(path_);
    std::map<std::string_view, std::string> recorded;
    for (const base::JsonReader& entry : base::JsonReader(json, file, "checkpoint")["tensors"].elements()) {
        recorded[entry["name"].string()] = entry["sha256"].string();
    }
    for (StoredTensor& tensor : tensors_) {
        const auto found = recorded.find(tensor.name);
        if (found != recorded.end()) tensor.sha256 = found->second;
    }
}

const StoredTensor* TensorSource::find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &tensors_[found->second];
}

const StoredTensor& TensorSource::at(std::string_view name) const {
    if (const StoredTensor* found = find(name)) return *found;
    std::vector<std::string_view> names;
    for (const StoredTensor& each : tensors_) names.emplace_back(each.name);
    throw Error(Code::usage, "checkpoint",
                path_ + ": has no tensor \"" + std::string(name) + "\"" + base::nearest_hint(name, names));
}

const TensorSource::Place& TensorSource::place(const StoredTensor& tensor) const {
    return places_[static_cast<size_t>(&tensor - tensors_.data())];
}

std::string_view TensorSource::bytes(const StoredTensor& tensor) const {
    const Place& where = place(tensor);
    return files_[where.file].text().substr(static_cast<size_t>(where.begin),
                                            static_cast<size_t>(where.end - where.begin));
}

Tensor TensorSource::read(const StoredTensor& tensor) const {
    const std::string_view from = bytes(tensor);
    Tensor read(tensor.shape, tensor.dtype, Device::cpu);
    if (!from.empty()) std::memcpy(cpu::data<>(read), from.data(), from.size());
    return read;
}

}  // namespace tenon::io
