// Reads batches ahead in a thread of its own. What comes out depends on (source, seed, batch, place) only: not on how
// far ahead it reads, nor on when.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tenon/data/order.h"
#include "tenon/data/source.h"

namespace tenon::data {

struct LoaderOptions {
    uint64_t seed = 0;
    int64_t batch = 1;     // sequences in the global batch
    int64_t first = 0;     // the rows of it that this loader reads: [first, first + rows)
    int64_t rows = 0;      // 0: all from `first` on
    int64_t prefetch = 4;  // batches read ahead at most
};

struct Batch {
    int64_t place = 0;  // where the global batch begins in the order
    int64_t rows = 0;
    int64_t length = 0;
    std::vector<int64_t> samples;  // [rows], their numbers in the source
    std::vector<int64_t> inputs;   // [rows, length]
    std::vector<int64_t> targets;  // [rows, length]
    int64_t valid_targets = 0;     // those that are not ignored_target
    double waited = 0;             // seconds that next() stood still for it
};

// One consumer: next(), seek() and place() belong to one thread.
class Loader {
public:
    // Error(usage, "data") for options that cannot be.
    Loader(std::shared_ptr<const Source> source, LoaderOptions options);
    ~Loader();  // stops the thread after the sample in hand
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;

    // The next batch. Rethrows what the source threw while reading it; the place stays, so a call after seek() goes on.
    Batch next();

    // The loader's whole state: where the next batch begins in the order. Any place ≥ 0 can be sought.
    int64_t place() const noexcept { return place_; }
    void seek(int64_t place);

private:
    void work();
    Batch read(int64_t place) const;
    bool may_read() const noexcept;

    const std::shared_ptr<const Source> source_;
    const LoaderOptions options_;
    const Order order_;
    int64_t place_ = 0;  // the consumer's

    std::mutex mutex_;  // guards what follows
    std::condition_variable room_, ready_;
    std::deque<Batch> queue_;
    std::exception_ptr failure_;  // of the batch after the queue's last
    int64_t ahead_ = 0;           // the place to read next
    uint64_t seeks_ = 0;          // a batch begun before the last seek is dropped
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace tenon::data
