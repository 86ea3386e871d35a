#include "tenon/io/checkpoint_report.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/number.h"
#include "tenon/base/sha256.h"
#include "tenon/io/safetensors.h"

namespace tenon::io {

namespace {

using base::JsonReader;

constexpr int64_t newest_format = 1;
constexpr int looks_at_a_changing_folder = 20;
constexpr int64_t manifest_limit = int64_t{64} << 20;
constexpr std::array<std::string_view, 3> folder_prefixes = {"step-", "unfinished-step-", "damaged-step-"};

std::optional<int64_t> step_of(const std::string& name) {
    for (const std::string_view prefix : folder_prefixes) {
        if (name.rfind(prefix, 0) == 0) return base::parse_integer(std::string_view(name).substr(prefix.size()));
    }
    return std::nullopt;
}

int64_t milliseconds_of_last_change(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) return 0;
    return int64_t{facts.st_mtim.tv_sec} * 1000 + facts.st_mtim.tv_nsec / 1000000;
}

// A tensor that the manifest lists, and where its bytes lie: the manifest's order is the file's, so that this needs
// nothing of a header that may be damaged.
struct Listed {
    std::string name;
    std::string sha256;
    int64_t offset = 0;  // from the first tensor of the file
    int64_t bytes = 0;
};

std::vector<Listed> listed_tensors(const JsonReader& manifest, std::string_view file) {
    std::vector<Listed> all;
    int64_t at = 0;
    for (const JsonReader& entry : manifest["tensors"].elements()) {
        if (entry["file"].string() != file) continue;
        int64_t bytes = size_of(dtype_from(entry["dtype"].string()));
        for (const int64_t size : entry["slice_shape"].integers()) {
            if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) entry["slice_shape"].fail("is no shape");
        }
        all.push_back({entry["name"].string(), entry["sha256"].string(), at, bytes});
        if (__builtin_add_overflow(at, bytes, &at)) entry["slice_shape"].fail("has more bytes than 63 bits count");
    }
    return all;
}

class Inspection {
public:
    Inspection(CheckpointReport& report, Depth depth) : report_(report), depth_(depth) {}

    void run() {
        const std::string text = read_manifest();
        if (text.empty()) return;
        try {
            const base::Json json = base::parse_json(text, path("manifest.json"), {manifest_limit, 32});
            check_files(JsonReader(json, path("manifest.json"), "checkpoint"));
        } catch (const Error& error) {
            damaged("manifest.json", "", error.what());
        }
    }

private:
    std::string path(std::string_view name) const { return base::join_path(report_.path, name); }

    void damaged(std::string_view file, std::string_view tensor, const std::string& what) {
        // A damaged manifest, once named, still says which tensors are good, and of none that it is bad.
        if (manifest_damaged_) return;
        report_.damage.push_back({std::string(file), std::string(tensor), what});
    }

    // Empty where there is none to read on with.
    std::string read_manifest() {
        if (!base::exists(path("manifest.json"))) {
            damaged("manifest.json", "", "is missing");
            return "";
        }
        std::string text = base::read_file(path("manifest.json"), manifest_limit);
        const std::string commit = base::read_file(path("COMMIT"), 1024);
        const std::string expected = base::sha256_hex(text) + "\n";
        if (commit == expected) return text;
        // Whichever of the two was changed: another manifest has another SHA-256 in nearly every digit.
        int64_t differing = 0;
        for (size_t i = 0; i < std::min(commit.size(), expected.size()); ++i) differing += commit[i] != expected[i];
        if (commit.size() != expected.size() || differing < 16) {
            damaged("COMMIT", "", "is not the SHA-256 of manifest.json and a newline");
        } else {
            damaged("manifest.json", "", "does not have the SHA-256 that COMMIT says");
            manifest_damaged_ = true;
        }
        return text;
    }

    void check_files(const JsonReader& manifest) {
        manifest.format(newest_format);
        manifest.only({"format", "step", "files", "tensors", "state", "lengths"});
        if (report_.step >= 0 && manifest["step"].integer() != report_.step) {
            damaged("manifest.json", "", "is of step " + std::to_string(manifest["step"].integer()));
        }
        report_.tensors = manifest["tensors"].size();
        for (const auto& [name, facts] : manifest["files"].members()) check_file(name, facts, manifest);
    }

    void check_file(const std::string& name, const JsonReader& facts, const JsonReader& manifest) {
        if (!base::exists(path(name))) return damaged(name, "", "is missing");
        const int64_t expected = facts["bytes"].integer();
        const base::MappedFile file(path(name));
        if (file.size() != expected) {
            damaged(name, "",
                    "has " + std::to_string(file.size()) + " bytes; the manifest says " + std::to_string(expected));
        }
        if (depth_ == Depth::sizes) return;
        const int64_t bad = check_tensors(name, file.text(), listed_tensors(manifest, name), expected);
        if (bad == 0 && file.size() == expected && base::sha256_hex(file.text()) != facts["sha256"].string()) {
            damaged(name, "", "fails its checksum in its header");
        }
    }

    // Gives the number of those that fail.
    int64_t check_tensors(const std::string& name, std::string_view file, const std::vector<Listed>& tensors,
                          int64_t expected_bytes) {
        const int64_t data = expected_bytes - (tensors.empty() ? 0 : tensors.back().offset + tensors.back().bytes);
        if (data < 0) {
            damaged("manifest.json", "", "lists tensors of more bytes than " + name + " has");
            return 1;
        }
        int64_t bad = 0;
        for (const Listed& tensor : tensors) {
            const int64_t begin = data + tensor.offset;
            const bool there = begin + tensor.bytes <= static_cast<int64_t>(file.size());
            if (there && base::sha256_hex(file.substr(static_cast<size_t>(begin), static_cast<size_t>(tensor.bytes))) ==
                             tensor.sha256) {
                ++report_.good_tensors;
                continue;
            }
            ++bad;
            damaged(name, tensor.name, there ? "its bytes do not have the SHA-256 of the manifest" : "is cut off");
        }
        return bad;
    }

    CheckpointReport& report_;
    Depth depth_;
    bool manifest_damaged_ = false;
};

bool is_committed(const std::string& path) {
    return base::exists(base::join_path(path, "COMMIT"));
}

// False where one was removed meanwhile: a running process removes older ones, COMMIT first.
bool inspect_all(const std::string& folder, Depth depth, std::vector<CheckpointReport>& reports) {
    bool all = true;
    for (const std::string& name : base::list_directory(folder)) {
        const std::string path = base::join_path(folder, name);
        if (!step_of(name) || !base::is_directory(path)) continue;
        const bool was_committed = is_committed(path);
        const auto removed = [&] { return !base::exists(path) || (was_committed && !is_committed(path)); };
        try {
            CheckpointReport report = inspect_checkpoint(path, depth);
            if (report.state == CheckpointState::committed || !removed()) {
                reports.push_back(std::move(report));
            } else {
                all = false;
            }
        } catch (const Error&) {
            if (!removed()) throw;
            all = false;
        }
    }
    return all;
}

}  // namespace

std::string_view name_of(CheckpointState state) noexcept {
    switch (state) {
        case CheckpointState::committed:
            return "committed";
        case CheckpointState::damaged:
            return "damaged";
        case CheckpointState::unfinished:
            return "unfinished";
        case CheckpointState::set_aside:
            return "set aside";
    }
    return "";
}

CheckpointReport inspect_checkpoint(const std::string& path, Depth depth) {
    if (!base::is_directory(path)) throw Error(Code::file, "checkpoint", path + ": there is no such folder");
    CheckpointReport report;
    report.path = path;
    const std::string name = base::file_name(path);
    report.step = step_of(name).value_or(-1);
    const bool committed = is_committed(path);
    report.written = milliseconds_of_last_change(committed ? base::join_path(path, "COMMIT") : path);
    for (const std::string& each : base::list_directory(path)) {
        const std::string file = base::join_path(path, each);
        if (base::is_regular_file(file)) report.bytes += base::file_size(file);
    }
    if (!committed) {
        report.state = CheckpointState::unfinished;
        return report;
    }
    Inspection(report, depth).run();
    if (!report.damage.empty()) report.state = CheckpointState::damaged;
    if (name.rfind("damaged-", 0) == 0) report.state = CheckpointState::set_aside;
    return report;
}

std::vector<CheckpointReport> inspect_checkpoints(const std::string& folder, Depth depth) {
    if (!base::exists(folder)) return {};
    // What is removed meanwhile has a newer one in its place, seen at the next look.
    std::vector<CheckpointReport> reports;
    for (int look = 0; look < looks_at_a_changing_folder; ++look) {
        reports.clear();
        if (inspect_all(folder, depth, reports)) break;
    }
    std::stable_sort(reports.begin(), reports.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
    return reports;
}

base::Json committed_manifest(const std::string& path) {
    const std::string file = base::join_path(path, "manifest.json");
    const std::string text = base::read_file(file, manifest_limit);
    if (base::read_file(base::join_path(path, "COMMIT"), 1024) != base::sha256_hex(text) + "\n") {
        throw Error(Code::file, "checkpoint", file + ": does not have the SHA-256 that COMMIT says");
    }
    return base::parse_json(text, file, {manifest_limit, 32});
}

std::string to_string(const CheckpointDamage& damage) {
    return damage.file + (damage.tensor.empty() ? " " : ": tensor \"" + damage.tensor + "\": ") + damage.what;
}

}  // namespace tenon::io
