// What may differ between a run and its continuation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/json.h"

namespace tenon::train {

struct ResumeOptions {
    std::vector<std::string> allow;  // names of changes that are accepted, and recorded
    std::vector<std::string> sets;   // "key=value": replaced in the recorded configuration
};

// A reason for which the numbers to come would not be those of the run as it was.
struct Change {
    std::string name;  // one of change_names()
    std::string reason;
};

// "data", "tokenizer", "config", "numerics".
const std::vector<std::string>& change_names();
// Throws Error(usage) for a name that is none of them.
void check_change_names(const std::vector<std::string>& names);

// What differs between two origins, {"inputs": …, "config": …} (RunRecord::origin). Keys of the configuration that
// cannot change a number that is there already may differ: steps, logging, checkpoints, the text's path.
std::vector<Change> changes(const base::Json& before, const base::Json& now);

// Throws Error(refused) with all reasons unless each change is allowed, and Error(usage) where something was allowed
// that did not change. Without `numerics_compared`, nobody knows whether numerics did.
void check_allowed(const std::vector<Change>& found, const std::vector<std::string>& allowed, bool numerics_compared);

// Whether what the run did at first could be done again by what it is now: nothing was allowed to change on the way.
bool repeats_from_start(const base::Json& record);

}  // namespace tenon::train
