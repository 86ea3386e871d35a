// What may differ between a run and its continuation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/run/digest_ledger.h"

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

// Names of the changes that were allowed when the run was resumed from this step before.
std::vector<std::string> allowed_at(int64_t step, const base::Json& record);

// Step 1, done again from nothing, against the run's record of it: whether this program computes what the one did that
// began the run. Nothing, or what differs. Throws Error(file) where the record has no step 1.
std::optional<std::string> difference_from_record(const std::vector<run::DigestRecord>& record,
                                                  const run::Digest& first_parameters, const run::DigestRecord& again);

// Whether what the run did at first could be done again by what it is now: nothing was allowed to change on the way.
bool repeats_from_start(const base::Json& record);

}  // namespace tenon::train
