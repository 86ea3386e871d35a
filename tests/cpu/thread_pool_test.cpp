#include "tenon/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <immintrin.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/cpu/float_environment.h"

namespace {

using namespace tenon::cpu;

class ThreadPool : public testing::Test {
protected:
    ~ThreadPool() override { set_threads(before_); }
    int before_ = threads();
};

TEST_F(ThreadPool, EveryTileRunsOnce) {
    for (int n : {1, 2, 3, 4, 7}) {
        set_threads(n);
        EXPECT_EQ(threads(), n);
        for (int64_t tiles : {0, 1, 2, 3, 100, 5000}) {
            std::vector<std::atomic<int>> ran(static_cast<size_t>(tiles));
            parallel_for(tiles, [&](int64_t tile) { ran[static_cast<size_t>(tile)].fetch_add(1); });
            for (auto& count : ran) EXPECT_EQ(count.load(), 1);
        }
    }
}

TEST_F(ThreadPool, ResultsAreVisibleToTheCaller) {
    set_threads(4);
    std::vector<int64_t> out(64);
    for (int64_t round = 0; round < 20000; ++round) {
        parallel_for(64, [&](int64_t tile) { out[static_cast<size_t>(tile)] = tile + round; });
        for (int64_t tile = 0; tile < 64; ++tile) ASSERT_EQ(out[static_cast<size_t>(tile)], tile + round);
    }
}

TEST_F(ThreadPool, WorkersWakeFromSleep) {
    set_threads(3);
    for (int round = 0; round < 20; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        std::atomic<int64_t> sum{0};
        parallel_for(50, [&](int64_t tile) { sum += tile; });
        ASSERT_EQ(sum.load(), 49 * 50 / 2);
    }
}

TEST_F(ThreadPool, SeveralThreadsTakePart) {
    set_threads(3);
    std::atomic<int> inside{0};
    // Three tiles that wait for one another: with fewer than three threads this would not end.
    parallel_for(3, [&](int64_t) {
        inside.fetch_add(1);
        while (inside.load() < 3) std::this_thread::yield();
    });
    EXPECT_EQ(inside.load(), 3);
}

TEST_F(ThreadPool, NestedCallsRunInOrderInTheirThread) {
    set_threads(4);
    parallel_for(8, [](int64_t) {
        EXPECT_TRUE(inside_tile());
        const auto self = std::this_thread::get_id();
        int64_t expected = 0;
        parallel_for(10, [&](int64_t tile) {
            EXPECT_EQ(std::this_thread::get_id(), self);
            EXPECT_EQ(tile, expected++);
        });
        EXPECT_EQ(expected, 10);
    });
    EXPECT_FALSE(inside_tile());
}

TEST_F(ThreadPool, TheLowestFailingTilesExceptionIsRethrown) {
    for (int n : {1, 2, 4}) {
        set_threads(n);
        for (int round = 0; round < 200; ++round) {
            std::atomic<int> below{0};
            try {
                parallel_for(300, [&](int64_t tile) {
                    if (tile < 37) below.fetch_add(1);
                    if (tile >= 37 && tile % 2 == 1) throw std::runtime_error("tile " + std::to_string(tile));
                });
                FAIL() << "nothing was thrown";
            } catch (const std::runtime_error& e) {
                ASSERT_STREQ(e.what(), "tile 37");
            }
            ASSERT_EQ(below.load(), 37);
        }
        std::atomic<int> ran{0};  // and the pool still works
        parallel_for(50, [&](int64_t) { ran.fetch_add(1); });
        EXPECT_EQ(ran.load(), 50);
    }
}

TEST_F(ThreadPool, ConcurrentCallersEachGetTheirTiles) {
    set_threads(2);
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&wrong] {
            for (int round = 0; round < 500; ++round) {
                std::atomic<int64_t> sum{0};
                parallel_for(40, [&](int64_t tile) { sum += tile; });
                if (sum.load() != 39 * 40 / 2) wrong.fetch_add(1);
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong.load(), 0);
}

TEST_F(ThreadPool, TheNumberOfThreadsCanChangeBetweenJobs) {
    std::thread::id self = std::this_thread::get_id();
    for (int round = 0; round < 30; ++round) {
        set_threads(1 + round % 4);
        std::atomic<int> ran{0};
        parallel_for(20, [&](int64_t) {
            if (threads() == 1) {
                EXPECT_EQ(std::this_thread::get_id(), self);
            }
            ran.fetch_add(1);
        });
        EXPECT_EQ(ran.load(), 20);
    }
    EXPECT_THROW(set_threads(0), tenon::Error);
    set_threads(2);
    parallel_for(2, [](int64_t) { EXPECT_THROW(set_threads(3), tenon::Error); });
}

TEST_F(ThreadPool, WorkersComputeWithTheDefaultFloatEnvironment) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040u);  // flush to zero, denormals are zero: workers must not inherit them
    set_threads(3);
    std::atomic<int> inside{0}, changed{0};
    const auto caller = std::this_thread::get_id();
    parallel_for(3, [&](int64_t) {
        inside.fetch_add(1);
        while (inside.load() < 3) std::this_thread::yield();
        if (std::this_thread::get_id() != caller && (_mm_getcsr() & 0xe040u) != 0) changed.fetch_add(1);
    });
    _mm_setcsr(before);
    EXPECT_EQ(changed.load(), 0);
}

TEST(FloatEnvironmentTest, CorrectsAndRestoresWhatOtherLibrariesSet) {
    const unsigned before = _mm_getcsr();
    const int64_t count = FloatEnvironment::corrections();
    {
        const FloatEnvironment untouched;
        EXPECT_EQ(_mm_getcsr() & 0xe040u, 0u);
    }
    EXPECT_EQ(FloatEnvironment::corrections(), count);
    _mm_setcsr(before | 0x8040u | 0x2000u);
    {
        const FloatEnvironment corrected;
        EXPECT_EQ(_mm_getcsr() & 0xe040u, 0u);
    }
    EXPECT_EQ(_mm_getcsr() & 0xe040u, 0xa040u);
    _mm_setcsr(before);
    EXPECT_EQ(FloatEnvironment::corrections(), count + 1);
}

#ifndef __SANITIZE_THREAD__  // TSan forbids threads after a fork
TEST_F(ThreadPool, AForkedChildStartsAfresh) {
    set_threads(3);
    std::atomic<int> ran{0};
    parallel_for(30, [&](int64_t) { ran.fetch_add(1); });
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(20);  // a hang ends as a signal
        std::atomic<int> inside{0};
        parallel_for(3, [&](int64_t) {
            inside.fetch_add(1);
            while (inside.load() < 3) std::this_thread::yield();
        });
        _exit(inside.load() == 3 && threads() == 3 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    parallel_for(30, [&](int64_t) { ran.fetch_add(1); });
    EXPECT_EQ(ran.load(), 60);
}
#endif

}  // namespace
