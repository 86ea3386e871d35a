// run.json of a run that is being trained.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/run/run_folder.h"
#include "tenon/train/config.h"

namespace tenon::train {

class RunRecord {
public:
    // `inputs`: digests of the text, the tokens and the tokenizer.
    RunRecord(const RunConfig& config, base::Json inputs);

    // The run begins now.
    void begin();
    // The run goes on: when it began, and from where it was resumed until now, stand in `record`.
    void go_on(const base::Json& record);
    // One more time.
    void add_resume(int64_t step, const std::vector<std::string>& allowed, const std::vector<std::string>& sets);

    // What every number of the run follows from, beside the program: {"inputs": …, "config": …}.
    base::Json origin() const;

    // Replaces run.json. `state`: "running", "completed", "interrupted" or "failed".
    void write(const run::RunFolder& folder, const std::string& state, int64_t step,
               const std::string& failure = {}) const;

private:
    const RunConfig& config_;
    base::Json inputs_;
    base::Json resumes_ = base::Json::array();
    std::string started_;
};

}  // namespace tenon::train
