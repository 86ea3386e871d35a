#include "tenon/run/run_folder.h"

#include "tenon/base/error.h"
#include "tenon/base/log.h"
#include "tenon/base/sha256.h"
#include "tenon/base/unicode.h"

namespace tenon::run {

namespace {

constexpr int64_t newest_format = 1;
constexpr int64_t record_limit = int64_t{64} << 20;

std::string record_path(const std::string& run_path) {
    return base::join_path(run_path, "run.json");
}

// The file's text, with the seal that this record has.
std::string sealed_text(base::Json record) {
    record["host"].set("seal", "");
    const std::string seal = base::sha256_hex(record.pretty() + "\n");
    record["host"].set("seal", seal);
    return record.pretty() + "\n";
}

void check_is_run(const std::string& path) {
    if (!base::is_directory(path)) throw Error(Code::file, "run", path + ": there is no such run folder");
    if (!base::exists(record_path(path)))
        throw Error(Code::file, "run", path + ": is no run folder: it has no run.json");
}

}  // namespace

void RunFolder::check_free(const std::string& path) {
    const auto refuse = [&](const std::string& what) { throw Error(Code::usage, "run", path + ": " + what); };
    if (path.empty()) throw Error(Code::usage, "run", "the run's folder has an empty name");
    if (!base::is_utf8(path)) throw Error(Code::usage, "run", "the run's folder has a name that is not UTF-8");
    if (!base::exists(path)) return;
    if (!base::is_directory(path)) refuse("is no folder; give another --run");
    if (base::exists(record_path(path))) {
        refuse("holds a run already; resume it with `tenon resume " + path + "` or give another --run");
    }
    for (const std::string& name : base::list_directory(path)) {
        if (name != "lock") refuse("holds " + name + " already; a run begins in a new or an empty folder");
    }
}

RunFolder RunFolder::create(const std::string& path) {
    base::make_directories(path);
    base::LockFile lock(base::join_path(path, "lock"));
    check_free(path);
    RunFolder folder(path, std::move(lock));
    base::make_directories(folder.checkpoints());
    return folder;
}

RunFolder RunFolder::open(const std::string& path) {
    check_is_run(path);
    RunFolder folder(path, base::LockFile(base::join_path(path, "lock")));
    base::make_directories(folder.checkpoints());
    base::remove_unfinished(path);  // what a killed process was writing
    return folder;
}

void RunFolder::write_record(const base::Json& record) const {
    base::write_file_atomically(record_path(path_), sealed_text(record));
}

base::Json read_record(const std::string& run_path) {
    check_is_run(run_path);
    const std::string path = record_path(run_path);
    base::Json record = base::parse_json(base::read_file(path, record_limit), path);
    const base::JsonReader reader(record, path, "run");
    reader.format(newest_format);
    // What every reader asks for: a damaged record is an error here, with its place.
    for (const char* key : {"config", "origins", "host", "providers", "build"}) reader[key];
    for (const char* key : {"text", "data", "tokenizer"}) reader["inputs"][key].string();
    reader["contract"]["tier"].string();
    reader["contract"]["leaves"].integer();
    reader["outcome"]["state"].string();
    reader["host"]["started"].string();
    return record;
}

std::optional<bool> seal_holds(const std::string& run_path) {
    const base::Json record = read_record(run_path);
    if (record.at("host").find("seal") == nullptr) return std::nullopt;
    return base::read_file(record_path(run_path), record_limit) == sealed_text(record);
}

NumberedFolder::NumberedFolder(const std::string& parent, const std::string& name) {
    base::make_directories(parent);
    for (int64_t number = 1;; ++number) {
        path_ = base::join_path(parent, name + "-" + std::to_string(number));
        if (!base::exists(path_) && base::make_directory(path_)) return;
    }
}

NumberedFolder::~NumberedFolder() try {
    if (base::list_directory(path_).empty()) base::remove_tree(path_);
} catch (const Error& error) {
    base::log_warning(error.what());
}

}  // namespace tenon::run
