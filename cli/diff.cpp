// tenon diff: why two runs differ.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "tenon/base/error.h"
#include "tenon/base/number.h"
#include "tenon/run/run_diff.h"

namespace tenon::cli {

namespace {

using base::Json;
using run::Difference;
using run::Effect;

// Values as a person compares them: a digest's first digits, nothing for what is not there.
std::string shown(const Json& value) {
    constexpr size_t digest_digits = 64, enough_digits = 12;
    if (value.is_null()) return "none";
    // A loss is a float, so as one it has fewer digits.
    if (value.is(Json::Kind::real) && value.real() == static_cast<float>(value.real())) {
        return base::shortest(static_cast<float>(value.real()));
    }
    if (!value.is(Json::Kind::string)) return value.dump();
    const std::string& text = value.string();
    const bool is_hex = text.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (is_hex && text.size() == digest_digits) return text.substr(0, enough_digits) + "...";
    return text.empty() ? "\"\"" : text;
}

std::vector<std::string> split(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

// The words that only one of two lists of flags has.
std::string words_without(const Json& flags, const Json& others) {
    const std::vector<std::string> other = split(others.is_null() ? "" : others.string());
    std::string rest;
    for (const std::string& word : split(flags.is_null() ? "" : flags.string())) {
        if (std::find(other.begin(), other.end(), word) == other.end()) rest += (rest.empty() ? "" : " ") + word;
    }
    return rest.empty() ? "none" : rest;
}

std::string with_origin(const Json& value, const std::string& origin) {
    return shown(value) + (origin.empty() ? "" : " (" + origin + ")");
}

std::string sides(const Difference& each) {
    if (each.name == "flags") {
        const std::string a = words_without(each.a, each.b), b = words_without(each.b, each.a);
        // The same words in another order.
        if (a != b) return a + " -> " + b;
    }
    return with_origin(each.a, each.origin_a) + " -> " + with_origin(each.b, each.origin_b);
}

void print_line(const Difference& each, int number) {
    std::printf("%3d  %-12s %-26s %s%s\n", number, each.kind.c_str(), each.name.c_str(), sides(each).c_str(),
                each.follows.empty() ? "" : (", follows from " + each.follows).c_str());
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

void print_first(const run::RunDiff& diff) {
    if (!diff.first) {
        std::printf("the same bits in all %lld steps that both have\n", static_cast<long long>(diff.common_steps));
        return;
    }
    const auto& [a, b, parts] = *diff.first;
    if (a.step == 0) {
        std::printf("first difference at step 0: the initial parameters\n");
        return;
    }
    std::printf("first difference at step %lld: %s\n", static_cast<long long>(a.step), joined(parts).c_str());
    std::printf("  %-31s %s -> %s\n", "loss", base::shortest(a.loss).c_str(), base::shortest(b.loss).c_str());
    std::printf("  %-31s %s\n  %-31s %s\n", "gradients", a.gradients == b.gradients ? "same" : "differ", "parameters",
                a.parameters == b.parameters ? "same" : "differ");
}

void print(const run::RunDiff& diff) {
    int number = 0;
    for (const Effect effect : {Effect::may_change_bits, Effect::no_bit_at_d4, Effect::no_bit}) {
        bool titled = false;
        for (const Difference& each : diff.differences) {
            if (each.effect != effect) continue;
            if (!titled) std::printf("%s:\n", std::string(run::name_of(effect)).c_str());
            titled = true;
            print_line(each, ++number);
        }
    }
    if (diff.differences.empty()) std::printf("nothing on record differs before the first step\n");
    print_first(diff);
    if (!diff.outcome.empty()) std::printf("outcome:\n");
    for (const Difference& each : diff.outcome) std::printf("  %-31s %s\n", each.name.c_str(), sides(each).c_str());
}

}  // namespace

void add_diff(base::CommandLine& line) {
    struct Arguments {
        std::string a, b;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    line.add("diff", "What differs between two runs, the likeliest cause first; prints nothing where nothing does.",
             "tenon diff runs/bible-1 runs/bible-2")
        .positional("A", &arguments->a, "a run's folder")
        .positional("B", &arguments->b, "another one")
        .flag("--json", &arguments->json, "print JSON, also where nothing differs")
        .action([arguments] {
            const run::RunDiff diff =
                run::diff_runs(run::read_compared_run(arguments->a), run::read_compared_run(arguments->b));
            if (arguments->json) {
                std::printf("%s\n", run::to_json(diff).pretty().c_str());
            } else if (!diff.same()) {
                print(diff);
            }
            return diff.same() ? 0 : exit_code(Code::failed);
        });
}

}  // namespace tenon::cli
