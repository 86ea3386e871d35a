#include "tenon/base/log.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>
#include <vector>

#include "tests/base/thrown.h"

namespace tenon::base {

namespace {

class LevelScope {
public:
    explicit LevelScope(LogLevel level) : before_(log_level()) { set_log_level(level); }
    ~LevelScope() { set_log_level(before_); }

private:
    LogLevel before_;
};

}  // namespace

TEST(Log, DropsLinesBelowItsLevel) {
    const LevelScope scope(LogLevel::warning);
    testing::internal::CaptureStderr();
    log_debug("d");
    log_info("i");
    log_warning("w");
    log_error("e");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: w\nerror: e\n");
}

TEST(Log, ThreadsDoNotMixWithinALine) {
    const LevelScope scope(LogLevel::info);
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

TEST(Log, SaysAThingOnce) {
    EXPECT_TRUE(once("log-test-key"));
    EXPECT_FALSE(once("log-test-key"));
    EXPECT_TRUE(once("log-test-other"));
}

TEST(Log, KnowsItsLevelsByName) {
    EXPECT_EQ(parse_log_level("error"), LogLevel::error);
    EXPECT_EQ(tests::thrown([] { parse_log_level("warn"); }).rfind("[log] unknown level \"warn\"", 0), 0u);
}

}  // namespace tenon::base
