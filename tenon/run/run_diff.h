// What differs between two runs, the likeliest cause first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/run/digest_ledger.h"

namespace tenon::run {

// Whether a difference can change what a step computes: it may; it does not at tier D4 (docs/numerics.md), so bits that
// differ are a fault; it cannot, because nothing that computes a number reads it.
enum class Effect { may_change_bits, no_bit_at_d4, no_bit };
std::string_view name_of(Effect effect) noexcept;

struct Difference {
    std::string kind;  // "input", "config", "contract", "environment", "host", "build", "kernels", "resume"
    std::string name;  // "optim.learning_rate", "TENON_CPU"
    base::Json a, b;   // null: the run does not have it
    std::string origin_a, origin_b;  // config: where the value is from
    Effect effect = Effect::may_change_bits;
    std::string follows;  // the difference that brings this one about; "" for a cause
};

struct StepDifference {
    DigestRecord a, b;               // the first two records of one step that differ
    std::vector<std::string> parts;  // of "samples", "loss", "gradients", "parameters", as a step makes them
};

// What a comparison reads of a run: anything under its folder may be growing meanwhile.
struct ComparedRun {
    base::Json record;  // run.json
    bool has_digests = false;
    std::vector<DigestRecord> digests;
    base::Json validation;                           // the last validation event, or null
    std::vector<std::vector<base::Json>> samples{};  // of step i + 1; as far as events.jsonl tells
};
ComparedRun read_compared_run(const std::string& run_path);

struct RunDiff {
    std::vector<Difference> differences;  // by effect, causes before what follows from them, then by kind
    int64_t common_steps = 0;             // steps on record in both
    std::optional<StepDifference> first;
    std::vector<Difference> outcome;  // kind "outcome": state, steps, loss, validation

    bool same() const { return differences.empty() && !first && outcome.empty(); }
};
RunDiff diff_runs(const ComparedRun& a, const ComparedRun& b);

base::Json to_json(const RunDiff& diff);

}  // namespace tenon::run
