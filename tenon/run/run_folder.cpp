#include "tenon/run/run_folder.h"

#include "tenon/base/error.h"

namespace tenon::run {

namespace {

constexpr int64_t newest_format = 1;

std::string record_path(const std::string& run_path) {
    return base::join_path(run_path, "run.json");
}

void check_is_run(const std::string& path) {
    if (!base::is_directory(path)) throw Error(Code::file, "run", path + ": there is no such run folder");
    if (!base::exists(record_path(path)))
        throw Error(Code::file, "run", path + ": is no run folder: it has no run.json");
}

}  // namespace

void RunFolder::check_free(const std::string& path) {
    if (!base::exists(record_path(path))) return;
    throw Error(Code::usage, "run",
                path + ": holds a run already; resume it with `tenon resume " + path + "` or give another --run");
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
    return RunFolder(path, base::LockFile(base::join_path(path, "lock")));
}

void RunFolder::write_record(const base::Json& record) const {
    base::write_file_atomically(record_path(path_), record.pretty() + "\n");
}

base::Json read_record(const std::string& run_path) {
    check_is_run(run_path);
    const std::string path = record_path(run_path);
    base::Json record = base::parse_json(base::read_file(path, int64_t{64} << 20), path);
    base::JsonReader(record, path, "run").format(newest_format);
    return record;
}

std::string free_run_path(const std::string& parent, const std::string& name) {
    for (int64_t number = 1;; ++number) {
        std::string path = base::join_path(parent, name + "-" + std::to_string(number));
        if (!base::exists(path)) return path;
    }
}

}  // namespace tenon::run
