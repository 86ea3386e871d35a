#include "tenon/run/run_diff.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <tuple>

#include "tenon/base/files.h"
#include "tenon/base/number.h"
#include "tenon/run/event_log.h"
#include "tenon/run/run_folder.h"

namespace tenon::run {

namespace {

using base::Json;

constexpr std::array<std::string_view, 8> kinds = {"input", "config", "contract", "environment",
                                                   "host",  "build",  "kernels",  "resume"};

// No number of a step depends on these; another text or tokenizer at another path shows as an input.
constexpr std::array<std::string_view, 6> keys_of_no_bit = {"data.path",       "tokenizer.path",   "batch.leaf_order",
                                                            "train.log_every", "checkpoint.every", "checkpoint.keep"};

template <class List>
bool holds(const List& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

const Json& member(const Json& object, std::string_view key) {
    static const Json null;
    const Json* found = object.find(key);
    return found ? *found : null;
}

// Keys of a, then those that only b has.
std::vector<std::string> keys_of(const Json& a, const Json& b) {
    std::vector<std::string> keys;
    for (const Json* each : {&a, &b}) {
        if (!each->is(Json::Kind::object)) continue;
        for (const auto& [key, value] : each->object_value()) {
            if (!holds(keys, key)) keys.push_back(key);
        }
    }
    return keys;
}

std::string text_or_empty(const Json& json) {
    return json.is(Json::Kind::string) ? json.string() : "";
}

// "--set" or "file:line"; anything else the program decided.
bool is_given(const std::string& origin) {
    if (origin == "--set") return true;
    const size_t colon = origin.rfind(':');
    return colon != std::string::npos && base::parse_integer(origin.substr(colon + 1)).has_value();
}

// Collects the differences of two records.
class Comparison {
public:
    Comparison(const Json& a, const Json& b) : a_(a), b_(b) {}

    std::vector<Difference> all() {
        config();
        inputs();
        contract();
        environment();
        kernels();
        build();
        host();
        resumes();
        std::stable_sort(found_.begin(), found_.end(), [](const Difference& x, const Difference& y) {
            const auto rank = [](const Difference& each) {
                return std::tuple(each.effect, !each.follows.empty(),
                                  std::find(kinds.begin(), kinds.end(), each.kind) - kinds.begin());
            };
            return rank(x) < rank(y);
        });
        return std::move(found_);
    }

private:
    const Json& in(const Json& record, std::string_view section, std::string_view key) const {
        return member(member(record, section), key);
    }

    // Adds record.section.key where it differs.
    bool compare(std::string_view kind, std::string_view section, std::string_view key,
                 Effect effect = Effect::may_change_bits, const std::string& follows = {}) {
        const Json &a = in(a_, section, key), &b = in(b_, section, key);
        if (a == b) return false;
        found_.push_back({std::string(kind), std::string(key), a, b, {}, {}, effect, follows});
        return true;
    }

    bool differs(std::string_view name) const {
        return std::any_of(found_.begin(), found_.end(), [&](const Difference& each) { return each.name == name; });
    }

    // The first of these that differs, else "".
    std::string cause_among(std::initializer_list<std::string_view> names) const {
        for (const std::string_view name : names) {
            if (differs(name)) return std::string(name);
        }
        return "";
    }

    Effect effect_of(std::string_view name) const {
        const auto at =
            std::find_if(found_.begin(), found_.end(), [&](const Difference& each) { return each.name == name; });
        return at == found_.end() ? Effect::may_change_bits : at->effect;
    }

    void config() {
        const Json &all_a = member(a_, "config"), &all_b = member(b_, "config");
        for (const std::string& section : keys_of(all_a, all_b)) {
            const Json &values_a = member(all_a, section), &values_b = member(all_b, section);
            for (const std::string& key : keys_of(values_a, values_b)) {
                const Json &a = member(values_a, key), &b = member(values_b, key);
                if (a == b) continue;
                const std::string name = section + "." + key;
                found_.push_back({"config", name, a, b, origin(a_, section, key), origin(b_, section, key),
                                  holds(keys_of_no_bit, name) ? Effect::no_bit : Effect::may_change_bits, ""});
            }
        }
        // A value that the program decided in both runs differs because another one does, or because the program does.
        const auto decided = [](const Difference& each) {
            return !is_given(each.origin_a) && !is_given(each.origin_b);
        };
        const auto given = std::find_if_not(found_.begin(), found_.end(), decided);
        const std::string cause = given != found_.end() ? given->name : "sources";
        for (Difference& each : found_) {
            if (decided(each)) each.follows = cause;
        }
    }

    std::string origin(const Json& record, std::string_view section, std::string_view key) const {
        return text_or_empty(member(in(record, "origins", section), key));
    }

    void inputs() {
        compare("input", "inputs", "text");
        // A tokenizer is trained on the text, unless it is loaded.
        const auto is_loaded = [&](const Json& record) {
            return !member(in(record, "config", "tokenizer"), "path").is_null();
        };
        const bool trained = !is_loaded(a_) && !is_loaded(b_);
        const std::string pattern_cause = trained ? cause_among({"text", "tokenizer.vocab_size", "data.held_out"}) : "";
        const bool pattern = compare("input", "inputs", "pattern_engine");
        compare("input", "inputs", "tokenizer", Effect::may_change_bits,
                pattern_cause.empty() && pattern && trained ? "pattern_engine" : pattern_cause);
        compare("input", "inputs", "data", Effect::may_change_bits,
                cause_among({"text", "tokenizer", "data.held_out", "pattern_engine"}));
        compare("input", "inputs", "samples", Effect::may_change_bits, cause_among({"data", "batch.length"}));
    }

    void contract() {
        compare("contract", "contract", "leaves", Effect::may_change_bits, cause_among({"batch.leaves"}));
        compare("contract", "contract", "k_blocks", Effect::may_change_bits, cause_among({"numerics.k_blocks"}));
        compare("contract", "contract", "tier", Effect::may_change_bits, cause_among({"numerics.tier"}));
    }

    static Effect effect_of_variable(std::string_view name) {
        if (name == "TENON_LOG") return Effect::no_bit;
        // Other libraries, other code in them, other memory: what these do is not ours to promise.
        for (const std::string_view prefix : {"LD_", "GLIBC_TUNABLES", "MALLOC_", "TENON_"}) {
            if (name.starts_with(prefix) && name != "TENON_CPU") return Effect::may_change_bits;
        }
        return Effect::no_bit_at_d4;
    }

    void environment() {
        const Json &a = in(a_, "host", "environment"), &b = in(b_, "host", "environment");
        if (a.is_null() || b.is_null()) return;  // a record of an older program
        for (const std::string& name : keys_of(a, b)) {
            if (member(a, name) == member(b, name)) continue;
            found_.push_back(
                {"environment", name, member(a, name), member(b, name), {}, {}, effect_of_variable(name), ""});
        }
    }

    void kernels() {
        compare("kernels", "host", "instruction_set", Effect::no_bit_at_d4, cause_among({"TENON_CPU"}));
        providers();
        compare("kernels", "host", "threads", Effect::no_bit);
    }

    // Which provider ran each op. How often is no difference of its own: a resumed run counts from its last start.
    void providers() {
        const auto table = [](const Json& record) {
            Json rows = Json::object();
            for (const Json& use : member(record, "providers").array_value()) {
                const std::string key =
                    text_or_empty(member(use, "op")) + " on " + text_or_empty(member(use, "device"));
                const std::string row =
                    text_or_empty(member(use, "provider")) + " " + text_or_empty(member(use, "tier"));
                const Json* before = rows.find(key);
                rows.set(key, before ? before->string() + ", " + row : row);
            }
            return rows;
        };
        const Json a = table(a_), b = table(b_);
        const std::string cause = cause_among({"model.model_type", "TENON_CPU", "instruction_set", "numerics.tier"});
        for (const std::string& op : keys_of(a, b)) {
            const Json &x = member(a, op), &y = member(b, op);
            // A run that stopped early has not come to every op.
            if (x == y || x.is_null() || y.is_null()) continue;
            const auto keeps = [](const Json& row) { return row.string().ends_with(" D4"); };
            found_.push_back({"kernels",
                              op,
                              x,
                              y,
                              {},
                              {},
                              keeps(x) && keeps(y) ? Effect::no_bit_at_d4 : Effect::may_change_bits,
                              cause});
        }
    }

    void build() {
        const Json &sources_a = in(a_, "build", "sources"), &sources_b = in(b_, "build", "sources");
        const bool known = !sources_a.is_null() && !sources_b.is_null();
        if (known) compare("build", "build", "sources");
        compare("build", "build", "flags");
        compare("build", "build", "type", Effect::may_change_bits, cause_among({"flags"}));
        compare("build", "build", "version", Effect::may_change_bits, cause_among({"sources"}));
        compare("build", "build", "commit", known && !differs("sources") ? Effect::no_bit : Effect::may_change_bits,
                cause_among({"sources"}));
        compare("build", "build", "compiler", Effect::no_bit_at_d4);
        // A commit is part of the program, so another one is another program.
        const std::string cause = cause_among({"sources", "flags", "type", "version", "compiler", "commit"});
        compare("build", "build", "identity", effect_of(cause), cause);
    }

    void host() {
        compare("host", "host", "libc", Effect::no_bit_at_d4);
        compare("host", "host", "processor", Effect::no_bit_at_d4);
        compare("host", "host", "kernel", Effect::no_bit_at_d4);
        compare("host", "host", "name", Effect::no_bit);
        compare("host", "host", "processors", Effect::no_bit, cause_among({"name"}));
    }

    void resumes() {
        const auto allowed = [](const Json& record) {
            Json changes = Json::array();
            const Json& resumes = member(record, "resumes");
            if (!resumes.is(Json::Kind::array)) return changes;
            for (const Json& resume : resumes.array_value()) {
                const Json& names = member(resume, "allowed");
                if (names.size() > 0)
                    changes.push(Json::object({{"step", member(resume, "step")}, {"allowed", names}}));
            }
            return changes;
        };
        const Json a = allowed(a_), b = allowed(b_);
        if (a != b) found_.push_back({"resume", "allowed", a, b, {}, {}, Effect::may_change_bits, ""});
        const int64_t count_a = member(a_, "resumes").size(), count_b = member(b_, "resumes").size();
        if (count_a != count_b) found_.push_back({"resume", "resumes", count_a, count_b, {}, {}, Effect::no_bit, ""});
    }

    const Json &a_, &b_;
    std::vector<Difference> found_;
};

std::vector<std::string> parts_that_differ(const DigestRecord& a, const DigestRecord& b) {
    std::vector<std::string> parts;
    // Bits, not values: a loss that is not a number equals itself here, and zeros have signs.
    if (std::bit_cast<uint32_t>(a.loss) != std::bit_cast<uint32_t>(b.loss)) parts.emplace_back("loss");
    if (a.gradients != b.gradients) parts.emplace_back("gradients");
    if (a.parameters != b.parameters) parts.emplace_back("parameters");
    return parts;
}

bool same_samples(const ComparedRun& a, const ComparedRun& b, int64_t step) {
    const auto index = static_cast<size_t>(step - 1);
    if (step < 1 || index >= a.samples.size() || index >= b.samples.size()) return true;
    return a.samples[index] == b.samples[index];
}

std::optional<StepDifference> first_difference(const ComparedRun& a, const ComparedRun& b) {
    const size_t common = std::min(a.digests.size(), b.digests.size());
    for (size_t i = 0; i < common; ++i) {
        std::vector<std::string> parts = parts_that_differ(a.digests[i], b.digests[i]);
        if (!same_samples(a, b, a.digests[i].step)) parts.insert(parts.begin(), "samples");
        if (!parts.empty()) return StepDifference{a.digests[i], b.digests[i], std::move(parts)};
    }
    return std::nullopt;
}

int64_t steps_of(const std::vector<DigestRecord>& digests) {
    return digests.empty() ? 0 : digests.back().step;
}

std::vector<Difference> outcome(const ComparedRun& a, const ComparedRun& b) {
    std::vector<Difference> found;
    const auto compare = [&](const char* name, const std::function<Json(const ComparedRun&)>& of) {
        const Json x = of(a), y = of(b);
        if (x != y) found.push_back({"outcome", name, x, y, {}, {}, Effect::no_bit, ""});
    };
    compare("state", [](const ComparedRun& run) { return member(member(run.record, "outcome"), "state"); });
    compare("failure", [](const ComparedRun& run) { return member(member(run.record, "outcome"), "failure"); });
    compare("digests.bin", [](const ComparedRun& run) { return Json(run.has_digests ? "there" : "missing"); });
    compare("steps", [](const ComparedRun& run) { return Json(steps_of(run.digests)); });
    compare("loss",
            [](const ComparedRun& run) { return steps_of(run.digests) == 0 ? Json() : Json(run.digests.back().loss); });
    compare("validation", [](const ComparedRun& run) { return member(run.validation, "nats_per_token"); });
    return found;
}

Json to_json(const Difference& each) {
    Json json = Json::object({{"kind", each.kind}, {"name", each.name}, {"a", each.a}, {"b", each.b}});
    if (each.kind == "config") {
        json.set("origin_a", each.origin_a);
        json.set("origin_b", each.origin_b);
    }
    if (each.kind == "outcome") return json;
    json.set("effect", name_of(each.effect));
    json.set("follows", each.follows.empty() ? Json() : Json(each.follows));
    return json;
}

Json to_json(const std::vector<Difference>& list) {
    Json array = Json::array();
    for (const Difference& each : list) array.push(to_json(each));
    return array;
}

Json to_json(const DigestRecord& record) {
    return Json::object(
        {{"loss", record.loss}, {"gradients", to_hex(record.gradients)}, {"parameters", to_hex(record.parameters)}});
}

}  // namespace

std::string_view name_of(Effect effect) noexcept {
    switch (effect) {
        case Effect::may_change_bits:
            return "may change bits";
        case Effect::no_bit_at_d4:
            return "changes no bit at tier D4";
        case Effect::no_bit:
            break;
    }
    return "changes no bit";
}

ComparedRun read_compared_run(const std::string& run_path) {
    ComparedRun run;
    run.record = read_record(run_path);
    const std::string digests = base::join_path(run_path, "digests.bin");
    run.has_digests = base::exists(digests);
    if (run.has_digests) run.digests = read_digests(digests);
    const std::string events = base::join_path(run_path, "events.jsonl");
    if (!base::exists(events)) return run;
    for (const Json& event : read_events(events)) {
        const std::string kind = text_or_empty(member(event, "event"));
        if (kind == "validation") run.validation = event;
        if (kind != "step" || !member(event, "samples").is(Json::Kind::array)) continue;
        run.samples.push_back(event.at("samples").array_value());
    }
    return run;
}

RunDiff diff_runs(const ComparedRun& a, const ComparedRun& b) {
    RunDiff diff;
    diff.differences = Comparison(a.record, b.record).all();
    diff.common_steps = std::min(steps_of(a.digests), steps_of(b.digests));
    diff.first = first_difference(a, b);
    diff.outcome = outcome(a, b);
    return diff;
}

Json to_json(const RunDiff& diff) {
    Json first;
    if (diff.first) {
        first = Json::object({{"step", diff.first->a.step},
                              {"parts", Json(diff.first->parts)},
                              {"a", to_json(diff.first->a)},
                              {"b", to_json(diff.first->b)}});
    }
    return Json::object({{"differences", to_json(diff.differences)},
                         {"common_steps", diff.common_steps},
                         {"first_difference", std::move(first)},
                         {"outcome", to_json(diff.outcome)}});
}

}  // namespace tenon::run
