#include "tenon/train/resume.h"

#include <algorithm>
#include <array>

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"

namespace tenon::train {

namespace {

using base::Json;

// The schedule reads train.steps: rates to come follow the new number. data.path may move: the text's digest counts.
constexpr std::array<std::string_view, 5> free_keys = {"data.path", "train.steps", "train.log_every",
                                                       "checkpoint.every", "checkpoint.keep"};

bool is_free(std::string_view key) {
    return std::find(free_keys.begin(), free_keys.end(), key) != free_keys.end();
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string was_and_is(const Json* before, const Json& now) {
    return " was " + (before == nullptr ? "absent" : before->dump()) + " and is " + now.dump();
}

// Digests in inputs of the origins.
void compare_inputs(const Json& before, const Json& now, std::vector<Change>& found) {
    const auto differs = [&](std::string_view key) { return before.at(key) != now.at(key); };
    const auto reason = [&](std::string_view key) {
        return "the " + std::string(key) + " is not what the run began with: its digest was " +
               before.at(key).string() + " and is " + now.at(key).string();
    };
    if (differs("text")) found.push_back({"data", reason("text")});
    if (differs("tokenizer")) found.push_back({"tokenizer", reason("tokenizer")});
    // Other tokens from the same text and tokenizer: they were made in another way.
    if (found.empty() && differs("data")) found.push_back({"data", reason("data")});
}

}  // namespace

const std::vector<std::string>& change_names() {
    static const std::vector<std::string> names = {"data", "tokenizer", "config", "numerics"};
    return names;
}

void check_change_names(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (contains(change_names(), name)) continue;
        throw Error(Code::usage, "resume",
                    "--allow " + name + ": no change has that name" + base::nearest_hint(name, change_names()));
    }
}

std::vector<Change> changes(const Json& before, const Json& now) {
    std::vector<Change> found;
    compare_inputs(before.at("inputs"), now.at("inputs"), found);
    for (const auto& [section, keys] : now.at("config").object_value()) {
        const Json* old_keys = before.at("config").find(section);
        for (const auto& [key, value] : keys.object_value()) {
            const Json* old_value = old_keys == nullptr ? nullptr : old_keys->find(key);
            const std::string name = section + "." + key;
            if (is_free(name) || (old_value != nullptr && *old_value == value)) continue;
            found.push_back({"config", name + was_and_is(old_value, value)});
        }
    }
    return found;
}

void check_allowed(const std::vector<Change>& found, const std::vector<std::string>& allowed, bool numerics_compared) {
    std::string reasons;
    std::vector<std::string> missing;
    for (const Change& change : found) {
        if (contains(allowed, change.name)) continue;
        reasons += (reasons.empty() ? "" : "; ") + change.reason;
        if (!contains(missing, change.name)) missing.push_back(change.name);
    }
    if (!missing.empty()) {
        std::string options;
        for (const std::string& name : missing) options += " --allow " + name;
        throw Error(Code::refused, "resume", reasons + "; with" + options + " it goes on, and the record says so");
    }
    for (const std::string& name : allowed) {
        if (name == "numerics" && !numerics_compared) continue;
        if (std::none_of(found.begin(), found.end(), [&](const Change& each) { return each.name == name; })) {
            throw Error(Code::usage, "resume", "--allow " + name + " has no effect: nothing of that kind has changed");
        }
    }
}

std::vector<std::string> allowed_at(int64_t step, const Json& record) {
    std::vector<std::string> names;
    const Json* resumes = record.find("resumes");
    if (resumes == nullptr) return names;
    for (const Json& each : resumes->array_value()) {
        if (each.at("step").integer() != step) continue;
        for (const Json& name : each.at("allowed").array_value()) names.push_back(name.string());
    }
    return names;
}

std::optional<std::string> difference_from_record(const std::vector<run::DigestRecord>& record,
                                                  const run::Digest& first_parameters, const run::DigestRecord& again) {
    if (record.size() < 2) throw Error(Code::file, "resume", "digests.bin has no record of step 1");
    struct Row {
        std::string_view what;
        run::Digest was, is;
    };
    const Row rows[] = {{"the first parameters", record[0].parameters, first_parameters},
                        {"the gradients of step 1", record[1].gradients, again.gradients},
                        {"the parameters after step 1", record[1].parameters, again.parameters}};
    for (const Row& row : rows) {
        if (row.was == row.is) continue;
        return "this program does not compute what the one did that began the run: the digest of " +
               std::string(row.what) + " was " + run::to_hex(row.was) + " and is " + run::to_hex(row.is);
    }
    return std::nullopt;
}

bool repeats_from_start(const Json& record) {
    const Json* resumes = record.find("resumes");
    if (resumes == nullptr) return true;
    const auto& list = resumes->array_value();
    return std::all_of(list.begin(), list.end(), [](const Json& each) {
        return each.at("step").integer() == 0 || each.at("allowed").size() == 0;
    });
}

}  // namespace tenon::train
