#include "tenon/train/run_check.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/sha256.h"
#include "tenon/io/checkpoint_report.h"
#include "tenon/run/digest_ledger.h"
#include "tenon/run/event_log.h"
#include "tenon/run/run_folder.h"
#include "tenon/text/tokenizer.h"
#include "tenon/train/resume.h"

namespace tenon::train {

namespace {

using base::Json;

// What differs between the checkpoint's origin and the record's, but for what was allowed when the run was resumed.
std::string difference_of_origins(const Json& manifest, const Json& record) {
    const std::vector<std::string> allowed = allowed_at(manifest.at("step").integer(), record);
    std::string reasons;
    for (const Change& change : changes(manifest.at("state"), record)) {
        if (std::find(allowed.begin(), allowed.end(), change.name) != allowed.end()) continue;
        reasons += (reasons.empty() ? "" : "; ") + change.reason;
    }
    return reasons;
}

FileFinding check_record(const std::string& run_path, const std::string& path, const Json& record,
                         const Json& manifest) {
    const std::string reasons = manifest.is_null() ? "" : difference_of_origins(manifest, record);
    if (!reasons.empty()) return {path, false, "is not what the newest whole checkpoint says: " + reasons};
    const auto sealed = run::seal_holds(run_path);
    if (sealed && !*sealed) return {path, false, "has been changed since it was written: its seal does not hold"};
    return {path, true, sealed ? "its seal holds" : "can be read; it has no seal"};
}

FileFinding check_tokenizer(const std::string& path, const std::string& digest) {
    if (!base::exists(path)) return {path, false, "is missing"};
    if (base::sha256_hex_of_file(path) == digest) return {path, true, "has the SHA-256 on record"};
    if (text::Tokenizer::load(path).digest() == digest) return {path, true, "is the one on record, spelled otherwise"};
    return {path, false, "does not have the SHA-256 on record, " + digest};
}

FileFinding check_log(const std::string& path, const std::string& name, const Json& manifest) {
    if (!base::exists(path)) return {path, false, "is missing"};
    const int64_t bytes = base::file_size(path);
    if (name == "events.jsonl") run::read_events(path);
    if (name == "digests.bin") run::read_digests(path);
    if (manifest.is_null()) return {path, true, "can be read"};
    const int64_t needed = manifest.at("lengths").at(name).integer();
    if (bytes >= needed) return {path, true, "can be read and is as long as the newest whole checkpoint says"};
    return {path, false,
            "has " + std::to_string(bytes) + " bytes; the newest whole checkpoint needs " + std::to_string(needed)};
}

// What a check throws is what is wrong.
template <class Check>
FileFinding found(const std::string& path, const Check& check) {
    try {
        return check();
    } catch (const Error& error) {
        return {path, false, error.what()};
    }
}

}  // namespace

std::vector<FileFinding> check_run_files(const std::string& run_path, const std::string& checkpoint) {
    // A running process may have removed it since.
    const bool there = !checkpoint.empty() && base::exists(base::join_path(checkpoint, "COMMIT"));
    const Json manifest = there ? io::committed_manifest(checkpoint) : Json();
    std::vector<FileFinding> findings;
    Json inputs = manifest.is_null() ? Json() : manifest.at("state").at("inputs");
    const std::string record_path = base::join_path(run_path, "run.json");
    findings.push_back(found(record_path, [&] {
        const Json record = run::read_record(run_path);
        FileFinding finding = check_record(run_path, record_path, record, manifest);
        if (finding.good) inputs = record.at("inputs");
        return finding;
    }));
    if (!inputs.is_null()) {
        const std::string path = base::join_path(run_path, "tokenizer.json");
        findings.push_back(found(path, [&] { return check_tokenizer(path, inputs.at("tokenizer").string()); }));
    }
    for (const char* name : {"events.jsonl", "digests.bin"}) {
        const std::string path = base::join_path(run_path, name);
        findings.push_back(found(path, [&] { return check_log(path, name, manifest); }));
    }
    return findings;
}

}  // namespace tenon::train
