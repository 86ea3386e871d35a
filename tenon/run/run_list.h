// The runs of a folder, a few facts each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/json.h"

namespace tenon::run {

struct RunSummary {
    std::string name;
    // outcome.state; "stopped" where that is "running" and nobody holds the lock; "unreadable" where run.json is
    // damaged
    std::string state;
    int64_t step = 0;
    std::optional<double> loss;        // of that step, nats per token
    std::optional<double> validation;  // of the last validation, nats per token
    std::string started;               // UTC; "" where unreadable
    int64_t bytes = 0;                 // of all files in the folder
};

// Needs no lock, and the run may go on meanwhile.
RunSummary summarize_run(const std::string& run_path);
// What a run does now, given its record: a process that was killed had no time to say so.
std::string state_of_run(const std::string& run_path, const base::Json& record);

// Folders with a run.json, by name, numbers by their value: bible-2 before bible-10.
std::vector<RunSummary> list_runs(const std::string& folder);

// Names of what runs can be sorted by.
const std::vector<std::string_view>& run_sort_keys();
// The best first: the lowest loss, the most steps, the newest, the largest; runs without the value last.
void sort_runs(std::vector<RunSummary>& runs, std::string_view key);

base::Json to_json(const RunSummary& run);

}  // namespace tenon::run
