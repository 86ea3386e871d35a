// Faults on purpose: counts file operations and fails, shortens or stops at the n-th. For tests.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/base/files.h"

namespace tenon::base {

// Operations are numbered from 0 in the order in which they begin.
//   FileFaults faults;
//   faults.fail_at(3, ENOSPC);
//   FileHookScope scope(faults);
class FileFaults : public FileHook {
public:
    void fail_at(int64_t n, int error);
    void fail_from(int64_t n, int error);         // the n-th and all later ones, as on a full disk
    void shorten_at(int64_t n, int64_t bytes);    // a short write, where the n-th is a write
    void stop_at(int64_t n);                      // SIGKILL to this process before the n-th is made
    void keep_bytes(bool keep) { keep_ = keep; }  // calls() then owns what was written

    FileAnswer before(const FileCall& call) override;

    int64_t count() const;
    struct Seen {
        FileOperation operation;
        std::string path, target, bytes;
        int64_t offset, count;  // count: bytes of a write
        bool failed;            // by this hook
    };
    std::vector<Seen> calls() const;

private:
    mutable std::mutex mutex_;
    std::vector<Seen> seen_;
    std::map<int64_t, FileAnswer> answers_;
    int64_t fail_from_ = -1, stop_at_ = -1;
    int from_error_ = 0;
    bool keep_ = false;
};

}  // namespace tenon::base
