// A run's folder.
//
//   run.json  events.jsonl  digests.bin  tokenizer.json  checkpoints/step-N/  lock
#pragma once

#include <optional>
#include <string>

#include "tenon/base/files.h"
#include "tenon/base/json.h"

namespace tenon::run {

class RunFolder {
public:
    // Throws Error(usage) unless the folder is absent or empty.
    static void check_free(const std::string& path);
    // Makes the folder (its parents too) and locks it.
    static RunFolder create(const std::string& path);
    // Opens and locks an existing run for writing. Refused while another process holds it.
    static RunFolder open(const std::string& path);

    const std::string& path() const { return path_; }
    std::string events() const { return base::join_path(path_, "events.jsonl"); }
    std::string digests() const { return base::join_path(path_, "digests.bin"); }
    std::string tokenizer() const { return base::join_path(path_, "tokenizer.json"); }
    std::string checkpoints() const { return base::join_path(path_, "checkpoints"); }

    // Replaces run.json. Its host.seal is the SHA-256 of the file as it would be with an empty one.
    void write_record(const base::Json& record) const;

private:
    RunFolder(std::string path, base::LockFile lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    std::string path_;
    base::LockFile lock_;
};

// run.json of a folder, checked for its format; needs no lock. Throws Error(file) where there is no run.
base::Json read_record(const std::string& run_path);

// Whether run.json is byte for byte what was written, by its seal; nothing where it has none.
std::optional<bool> seal_holds(const std::string& run_path);

// Makes the folder "<parent>/<name>-<first free number>", so that programs that start together take different ones.
// The destructor takes it away again where no run began in it.
class NumberedFolder {
public:
    NumberedFolder(const std::string& parent, const std::string& name);
    ~NumberedFolder();
    NumberedFolder(const NumberedFolder&) = delete;
    NumberedFolder& operator=(const NumberedFolder&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace tenon::run
