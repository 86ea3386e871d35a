#include "tenon/data/loader.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <span>
#include <string>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/base/process.h"

namespace tenon::data {

namespace {

LoaderOptions checked(LoaderOptions options) {
    auto refuse = [](const std::string& message) { throw Error(Code::usage, "data", message); };
    if (options.batch < 1) refuse("a batch needs at least 1 sequence, not " + std::to_string(options.batch));
    if (options.prefetch < 1) refuse("prefetch must be at least 1, not " + std::to_string(options.prefetch));
    if (options.first >= 0 && options.rows == 0) options.rows = options.batch - options.first;
    if (options.first < 0 || options.rows < 1 || options.rows > options.batch - options.first)
        refuse("rows [" + std::to_string(options.first) + ", " + std::to_string(options.first) + " + " +
               std::to_string(options.rows) + ") are not within a batch of " + std::to_string(options.batch));
    return options;
}

// Signals are for the threads that expect them: a new thread inherits the mask of its maker.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

}  // namespace

Loader::Loader(std::shared_ptr<const Source> source, LoaderOptions options)
    : source_(std::move(source)), options_(checked(options)), order_(options.seed, source_->samples()) {
    SignalsBlocked blocked;
    thread_ = std::thread([this] { work(); });
}

Loader::~Loader() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    room_.notify_one();
    thread_.join();
}

Batch Loader::next() {
    const auto start = base::Clock::now();
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !queue_.empty() || failure_; });
    if (queue_.empty()) std::rethrow_exception(failure_);
    Batch batch = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    room_.notify_one();
    place_ += options_.batch;
    batch.waited = base::seconds_since(start);
    return batch;
}

void Loader::seek(int64_t place) {
    if (place < 0) throw Error(Code::usage, "data", "cannot seek to " + std::to_string(place));
    {
        std::lock_guard lock(mutex_);
        queue_.clear();
        failure_ = nullptr;
        ahead_ = TENON_FAULT(place_forgotten) ? 0 : place;
        ++seeks_;
    }
    place_ = place;
    room_.notify_one();
}

bool Loader::may_read() const noexcept {
    return !failure_ && static_cast<int64_t>(queue_.size()) < options_.prefetch;
}

void Loader::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        room_.wait(lock, [&] { return stop_ || may_read(); });
        if (stop_) return;
        int64_t place = ahead_;
        uint64_t seeks = seeks_;
        lock.unlock();
        Batch batch;
        std::exception_ptr failure;
        try {
            batch = read(place);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        if (seeks != seeks_) continue;
        if (failure) {
            failure_ = failure;
        } else {
            queue_.push_back(std::move(batch));
            ahead_ += options_.batch;
        }
        ready_.notify_one();
    }
}

Batch Loader::read(int64_t place) const {
    Batch batch;
    batch.place = place;
    batch.rows = options_.rows;
    batch.length = source_->length();
    auto length = static_cast<size_t>(batch.length);
    batch.inputs.resize(static_cast<size_t>(batch.rows) * length);
    batch.targets.resize(batch.inputs.size());
    for (int64_t row = 0; row < batch.rows; ++row) {
        batch.samples.push_back(
            order_.at(place + options_.first + row + (TENON_FAULT(order_by_prefetch) ? options_.prefetch : 0)));
        auto begin = static_cast<size_t>(row) * length;
        source_->read(batch.samples.back(), std::span(batch.inputs).subspan(begin, length),
                      std::span(batch.targets).subspan(begin, length));
    }
    batch.valid_targets =
        batch.rows * batch.length - std::count(batch.targets.begin(), batch.targets.end(), ignored_target);
    return batch;
}

}  // namespace tenon::data
