#include "tenon/base/file_faults.h"

#include <signal.h>
#include <unistd.h>

namespace tenon::base {

void FileFaults::fail_at(int64_t n, int error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_[n].error = error;
}

void FileFaults::fail_from(int64_t n, int error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fail_from_ = n;
    from_error_ = error;
}

void FileFaults::shorten_at(int64_t n, int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_[n].at_most = bytes;
}

void FileFaults::stop_at(int64_t n) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_at_ = n;
}

FileAnswer FileFaults::before(const FileCall& call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto n = static_cast<int64_t>(seen_.size());
    if (n == stop_at_) {
        ::kill(::getpid(), SIGKILL);
        for (;;) ::pause();  // the signal ends the process, but not always before kill() returns
    }
    FileAnswer answer;
    if (const auto planned = answers_.find(n); planned != answers_.end()) answer = planned->second;
    if (fail_from_ >= 0 && n >= fail_from_) answer.error = from_error_;
    seen_.push_back({call.operation, call.path, call.target, keep_ ? std::string(call.bytes) : std::string(),
                     call.offset, static_cast<int64_t>(call.bytes.size()), answer.error != 0});
    return answer;
}

int64_t FileFaults::count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int64_t>(seen_.size());
}

std::vector<FileFaults::Seen> FileFaults::calls() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return seen_;
}

}  // namespace tenon::base
