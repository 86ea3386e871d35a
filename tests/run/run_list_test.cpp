#include "tenon/run/run_list.h"

#include <gtest/gtest.h>

#include <limits>

#include "tenon/run/digest_ledger.h"
#include "tenon/run/event_log.h"
#include "tenon/run/run_folder.h"
#include "tests/base/temporary_folder.h"
#include "tests/base/thrown.h"

namespace tenon::tests {

namespace {

using base::Json;
using run::RunSummary;

Json record(const std::string& state) {
    Json json = base::parse_json(R"({"format": 1, "config": {}, "origins": {}, "providers": [], "build": {},
        "inputs": {"text": "", "data": "", "tokenizer": ""}, "contract": {"tier": "D4", "leaves": 1},
        "host": {"started": "2025-01-31T23:59:59.123Z"}})",
                                 "test");
    json.set("outcome", Json::object({{"state", state}, {"step", 0}}));
    return json;
}

std::vector<std::string> names(const std::vector<RunSummary>& runs) {
    std::vector<std::string> list;
    for (const RunSummary& run : runs) list.push_back(run.name);
    return list;
}

TEST(RunList, ARunsFactsAreThoseOfItsFiles) {
    const TemporaryFolder folder;
    {
        const run::RunFolder run = run::RunFolder::create(folder / "a");
        run.write_record(record("completed"));
        run::DigestLedger ledger(run.digests());
        ledger.append({0, std::numeric_limits<float>::quiet_NaN(), {}, {1, 1}});
        ledger.append({1, 4.5F, {1, 1}, {1, 1}});
        ledger.append({2, 4.25F, {1, 1}, {1, 1}});
        run::EventLog events(run.events());
        events.append(Json::object({{"event", "validation"}, {"step", 1}, {"nats_per_token", 9.0}}));
        events.append(Json::object({{"event", "validation"}, {"step", 2}, {"nats_per_token", 4.125}}));
        events.append(Json::object({{"event", "step"}, {"step", 3}}));
    }
    base::make_directory(folder / "no run");
    const auto runs = run::list_runs(folder.path());
    ASSERT_EQ(names(runs), std::vector<std::string>{"a"});
    EXPECT_EQ(runs[0].state, "completed");
    EXPECT_EQ(runs[0].step, 2);
    EXPECT_EQ(runs[0].loss, 4.25);
    EXPECT_EQ(runs[0].validation, 4.125);
    EXPECT_EQ(runs[0].started, "2025-01-31T23:59:59.123Z");
    int64_t bytes = 0;
    for (const char* name : {"run.json", "digests.bin", "events.jsonl", "lock"}) {
        bytes += base::file_size(folder / ("a/" + std::string(name)));
    }
    EXPECT_EQ(runs[0].bytes, bytes);
}

TEST(RunList, ARunIsRunningAsLongAsSomebodyHoldsItsLock) {
    const TemporaryFolder folder;
    {
        const run::RunFolder run = run::RunFolder::create(folder / "a");
        run.write_record(record("running"));
        EXPECT_EQ(run::summarize_run(run.path()).state, "running");
        EXPECT_TRUE(base::is_locked(folder / "a/lock"));
    }
    EXPECT_EQ(run::summarize_run(folder / "a").state, "stopped");
    EXPECT_FALSE(base::is_locked(folder / "a/lock"));
    EXPECT_FALSE(base::is_locked(folder / "a/no lock"));
    // Looking leaves the lock to who wants it.
    EXPECT_EQ(thrown([&] { run::RunFolder::open(folder / "a"); }), "");
}

TEST(RunList, ADamagedRecordIsListedAsUnreadable) {
    const TemporaryFolder folder;
    base::make_directory(folder / "a");
    base::write_file_atomically(folder / "a/run.json", "{");
    const auto runs = run::list_runs(folder.path());
    ASSERT_EQ(runs.size(), 1);
    EXPECT_EQ(runs[0].state, "unreadable");
    EXPECT_NE(thrown([&] { run::list_runs(folder / "absent"); }).find("no such folder"), std::string::npos);
}

TEST(RunList, RunsAreSortedByWhatIsAsked) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<RunSummary> runs = {
        {"b-10", "completed", 10, 4.0, 5.0, "2025-01-03", 1}, {"b-9", "running", 30, nan, {}, "2025-01-01", 3},
        {"a", "failed", 20, 3.0, 6.0, "2025-01-02", 2},       {"b-09", "stopped", 0, {}, {}, "", 4},
        {"b-9-x", "completed", 5, 5.0, 4.0, "2025-01-04", 0},
    };
    const std::vector<std::pair<std::string, std::vector<std::string>>> orders = {
        {"name", {"a", "b-09", "b-9", "b-9-x", "b-10"}},       {"state", {"b-10", "b-9-x", "a", "b-9", "b-09"}},
        {"step", {"b-9", "a", "b-10", "b-9-x", "b-09"}},       {"loss", {"a", "b-10", "b-9-x", "b-9", "b-09"}},
        {"validation", {"b-9-x", "b-10", "a", "b-9", "b-09"}}, {"started", {"b-9-x", "b-10", "a", "b-9", "b-09"}},
        {"size", {"b-09", "b-9", "a", "b-10", "b-9-x"}},
    };
    for (const auto& [key, expected] : orders) {
        std::vector<RunSummary> sorted = runs;
        run::sort_runs(sorted, key);
        EXPECT_EQ(names(sorted), expected) << key;
    }
    ASSERT_EQ(orders.size(), run::run_sort_keys().size());
    std::vector<RunSummary> none;
    EXPECT_NE(thrown([&] { run::sort_runs(none, "stat"); }).find("nearest is \"state\""), std::string::npos);
}

}  // namespace

}  // namespace tenon::tests
