#include "tenon/base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <thread>
#include <vector>

namespace tenon::base {

// The level is read at the first use: each of these runs in a process of its own.
TEST(LogDeathTest, DropsLinesBelowItsLevel) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto log_all = [](const char* level) {
        ::setenv("TENON_LOG", level, 1);
        log_info("i");
        log_warning("w");
        log_error("e");
        std::exit(0);
    };
    EXPECT_EXIT(log_all("info"), testing::ExitedWithCode(0), "^i\nwarning: w\nerror: e\n$");
    EXPECT_EXIT(log_all("warning"), testing::ExitedWithCode(0), "^warning: w\nerror: e\n$");
    EXPECT_EXIT(log_all("silent"), testing::ExitedWithCode(0), "^$");
    EXPECT_EXIT(log_all("warn"), testing::ExitedWithCode(0),
                "^warning: TENON_LOG: .log. unknown level \"warn\".*\ni\nwarning: w\nerror: e\n$");
}

TEST(Log, ThreadsDoNotMixWithinALine) {
    testing::internal::CaptureStderr();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([t] {
            for (int i = 0; i < 200; ++i) log_info(std::string(100, static_cast<char>('a' + t)));
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::istringstream lines(testing::internal::GetCapturedStderr());
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) ASSERT_EQ(line, std::string(100, line[0]));
    EXPECT_EQ(count, 800);
}

}  // namespace tenon::base
