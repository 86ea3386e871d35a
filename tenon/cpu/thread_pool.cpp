#include "tenon/cpu/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "tenon/base/error.h"
#include "tenon/base/process.h"

namespace tenon::cpu {

namespace {

// About 30 us: longer than the serial gaps between ops, shorter than a scheduler's slice.
constexpr int kSpins = 2000;
constexpr unsigned kDefaultFloatEnvironment = 0x1f80;
constexpr int64_t kNoFailure = std::numeric_limits<int64_t>::max();

// Sleeps while `word` holds `value`; a wake-up may be for nothing. The kernel wants the plain 32-bit word.
void futex_wait(std::atomic<uint32_t>& word, uint32_t value) {
    static_assert(sizeof(word) == 4 && std::atomic<uint32_t>::is_always_lock_free);
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word, int count) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

thread_local bool in_tile = false;

// One job at a time. The gate holds | generation : 16 | open : 1 | workers inside : 15 |. A worker enters only through
// an open gate, and the caller reuses the job's fields only when the gate is closed and nobody is inside. So the caller
// waits for workers that took part, never for one that the system has not scheduled: a busy neighbour costs its share
// of the time and no more.
class Pool {
public:
    void run(int64_t tiles, TileFunction function, void* context, int thread_count);
    bool try_acquire() { return !busy_.exchange(true, std::memory_order_acquire); }
    void release() { busy_.store(false, std::memory_order_release); }
    void stop_workers();

private:
    static constexpr uint32_t kOpen = 1u << 15, kInside = kOpen - 1u, kGeneration = 1u << 16;

    void start_workers(int count);
    void work(uint32_t generation);
    uint32_t wait_for_job(uint32_t generation);
    bool enter(uint32_t generation);
    void leave();
    void open_gate(int wanted);
    void close_gate_and_wait();
    void run_tiles();

    alignas(64) std::atomic<uint32_t> gate_{0};
    alignas(64) std::atomic<int64_t> next_{0};
    alignas(64) std::atomic<int> sleeping_{0};
    std::atomic<int> alive_{0};
    std::atomic<bool> stop_{false};
    std::atomic<bool> caller_sleeps_{false};
    std::atomic<uint32_t> finished_{0};  // times that the last worker left a closed gate; the caller sleeps on it
    alignas(64) std::atomic<bool> busy_{false};

    // The job. Written while the gate is closed and nobody is inside.
    TileFunction function_ = nullptr;
    void* context_ = nullptr;
    int64_t tiles_ = 0;
    std::atomic<int64_t> failed_{kNoFailure};  // the lowest tile that threw
    std::mutex failure_mutex_;
    std::exception_ptr failure_;
};

// Never freed: workers may be asleep in it when the process ends, and a forked child leaves its parent's behind.
std::atomic<Pool*> pool{nullptr};
std::atomic<int> configured{0};  // 0: the default

Pool& the_pool() {
    Pool* p = pool.load(std::memory_order_acquire);
    if (p != nullptr) return *p;
    static std::once_flag once;
    std::call_once(once,
                   [] { pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr, std::memory_order_release); }); });
    Pool* fresh = new Pool;
    if (pool.compare_exchange_strong(p, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;  // another thread was first, and nobody saw this one
    return *p;
}

void Pool::start_workers(int count) {
    if (alive_.load(std::memory_order_relaxed) >= count) return;
    const uint32_t generation = gate_.load(std::memory_order_relaxed) / kGeneration;
    sigset_t all, before;  // signals belong to the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (alive_.load(std::memory_order_relaxed) < count) {
        alive_.fetch_add(1, std::memory_order_relaxed);
        try {
            std::thread([this, generation] { work(generation); }).detach();
        } catch (const std::system_error& e) {
            const int have = alive_.fetch_sub(1, std::memory_order_relaxed);
            pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw Error(Code::failed, "threads",
                        "the system gave " + std::to_string(have) + " of " + std::to_string(count + 1) +
                            " threads: " + e.what() + "; ask for fewer with --threads");
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pool::stop_workers() {
    stop_.store(true, std::memory_order_relaxed);
    open_gate(std::numeric_limits<int>::max());
    while (alive_.load(std::memory_order_acquire) != 0) sched_yield();
    gate_.fetch_and(~kOpen, std::memory_order_relaxed);
    stop_.store(false, std::memory_order_relaxed);
}

void Pool::work(uint32_t generation) {
    _mm_setcsr(kDefaultFloatEnvironment);
    in_tile = true;
    for (;;) {
        generation = wait_for_job(generation);
        if (stop_.load(std::memory_order_relaxed)) break;
        if (!enter(generation)) continue;
        run_tiles();
        leave();
    }
    alive_.fetch_sub(1, std::memory_order_release);
}

// Returns the generation of a job that was open a moment ago and is not `generation`.
uint32_t Pool::wait_for_job(uint32_t generation) {
    for (int spins = 0;; ++spins) {
        uint32_t gate = gate_.load(std::memory_order_acquire);
        if (gate / kGeneration != generation && (gate & kOpen) != 0) return gate / kGeneration;
        if (spins < kSpins) {
            _mm_pause();
            continue;
        }
        // Announce, look again, sleep: whoever opens the gate changes it first and then looks for sleepers, and the
        // sequentially consistent order lets one of the two see the other.
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        gate = gate_.load(std::memory_order_seq_cst);
        if (gate / kGeneration == generation || (gate & kOpen) == 0) futex_wait(gate_, gate);
        sleeping_.fetch_sub(1, std::memory_order_relaxed);
        spins = 0;
    }
}

bool Pool::enter(uint32_t generation) {
    uint32_t gate = gate_.load(std::memory_order_relaxed);
    while ((gate & kOpen) != 0 && gate / kGeneration == generation) {
        if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed))
            return true;
    }
    return false;
}

void Pool::leave() {
    const uint32_t gate = gate_.fetch_sub(1, std::memory_order_seq_cst) - 1;
    if ((gate & (kOpen | kInside)) != 0) return;
    finished_.fetch_add(1, std::memory_order_seq_cst);
    if (caller_sleeps_.load(std::memory_order_seq_cst)) futex_wake(finished_, 1);
}

void Pool::open_gate(int wanted) {
    const uint32_t generation = gate_.load(std::memory_order_relaxed) / kGeneration + 1;
    gate_.store(generation * kGeneration | kOpen, std::memory_order_seq_cst);  // publishes the job
    if (sleeping_.load(std::memory_order_seq_cst) > 0) futex_wake(gate_, wanted);
}

void Pool::close_gate_and_wait() {
    gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int spins = 0; (gate_.load(std::memory_order_acquire) & kInside) != 0; ++spins) {
        if (spins < kSpins) {
            _mm_pause();
        } else if (spins < kSpins + 20) {
            sched_yield();  // a worker may be waiting for this very processor
        } else {
            caller_sleeps_.store(true, std::memory_order_seq_cst);
            const uint32_t finished = finished_.load(std::memory_order_seq_cst);
            if ((gate_.load(std::memory_order_seq_cst) & kInside) != 0) futex_wait(finished_, finished);
            caller_sleeps_.store(false, std::memory_order_relaxed);
        }
    }
}

void Pool::run_tiles() {
    for (;;) {
        const int64_t tile = next_.fetch_add(1, std::memory_order_relaxed);
        // Claims ascend, so every tile below a failing one has been claimed and will have run.
        if (tile >= tiles_ || tile > failed_.load(std::memory_order_relaxed)) return;
        try {
            function_(context_, tile);
        } catch (...) {
            std::lock_guard lock(failure_mutex_);
            if (tile < failed_.load(std::memory_order_relaxed)) {
                failed_.store(tile, std::memory_order_relaxed);
                failure_ = std::current_exception();
            }
        }
    }
}

void Pool::run(int64_t tiles, TileFunction function, void* context, int thread_count) {
    start_workers(thread_count - 1);
    function_ = function;
    context_ = context;
    tiles_ = tiles;
    next_.store(0, std::memory_order_relaxed);
    failed_.store(kNoFailure, std::memory_order_relaxed);
    open_gate(static_cast<int>(tiles - 1 < thread_count - 1 ? tiles - 1 : thread_count - 1));
    in_tile = true;
    run_tiles();
    in_tile = false;
    close_gate_and_wait();
    if (failed_.load(std::memory_order_relaxed) != kNoFailure) {
        std::exception_ptr failure = std::move(failure_);
        failure_ = nullptr;
        std::rethrow_exception(std::move(failure));
    }
}

class BusyPool {
public:
    explicit BusyPool(Pool& p) : pool_(p), acquired_(p.try_acquire()) {}
    ~BusyPool() {
        if (acquired_) pool_.release();
    }
    BusyPool(const BusyPool&) = delete;
    BusyPool& operator=(const BusyPool&) = delete;
    bool acquired() const { return acquired_; }

private:
    Pool& pool_;
    bool acquired_;
};

}  // namespace

void parallel_for(int64_t tiles, TileFunction function, void* context) {
    if (tiles > 1 && !in_tile && threads() > 1) {
        Pool& p = the_pool();
        BusyPool ours(p);
        if (ours.acquired()) return p.run(tiles, function, context, threads());
    }
    for (int64_t tile = 0; tile < tiles; ++tile) function(context, tile);
}

int threads() {
    int n = configured.load(std::memory_order_relaxed);
    if (n == 0) {
        n = static_cast<int>(base::default_thread_count());
        configured.store(n, std::memory_order_relaxed);
    }
    return n;
}

void set_threads(int64_t n) {
    // The gate counts workers in 15 bits.
    if (n < 1 || n > 4096) {
        throw Error(Code::usage, "threads", "the number of threads is " + std::to_string(n) + "; it must be 1 to 4096");
    }
    if (in_tile) throw Error(Code::usage, "threads", "the number of threads cannot change inside a tile");
    Pool& p = the_pool();
    for (;;) {
        BusyPool ours(p);
        if (ours.acquired()) {
            p.stop_workers();
            configured.store(static_cast<int>(n), std::memory_order_relaxed);
            return;
        }
        sched_yield();
    }
}

bool inside_tile() {
    return in_tile;
}

}  // namespace tenon::cpu
