// The command line: commands, options, help with examples, and the edge at which errors become exit codes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenon::base {

// Where a parsed value goes. What the variable holds before is the default; an optional without a value says "not
// given". A vector takes the option any number of times, or all remaining positionals.
using ArgumentTarget = std::variant<std::string*, int64_t*, double*, std::vector<std::string>*,
                                    std::optional<std::string>*, std::optional<int64_t>*, std::optional<double>*>;

// One command. Everything returns *this, so that a command reads as one sentence:
//   line.add("train", "Train a model.", "tenon train examples/bible.toml --set train.steps=40")
//       .positional("CONFIG", &config, "the run's configuration")
//       .option("--set", "KEY=VALUE", &overrides, "replace a value of the configuration")
//       .flag("--json", &json, "print JSON")
//       .action([&] { return train(config, overrides); });
// Targets must live until run() returns.
class Command {
public:
    // A command below this one ("tokenizer train").
    Command& add(std::string_view name, std::string_view doc, std::string_view example);

    Command& positional(std::string_view name, ArgumentTarget target,
                        std::string_view doc);  // optional<> may be left out
    Command& option(std::string_view name, std::string_view value_name, ArgumentTarget target, std::string_view doc);
    Command& required_option(std::string_view name, std::string_view value_name, ArgumentTarget target,
                             std::string_view doc);
    Command& flag(std::string_view name, bool* target, std::string_view doc);
    // What runs; its result is the exit code. A command with commands below it has none.
    Command& action(std::function<int()> run);

    struct State;
    explicit Command(std::shared_ptr<State> state);

private:
    std::shared_ptr<State> state_;
};

class CommandLine {
public:
    CommandLine(std::string_view program, std::string_view doc, std::string_view example, std::string_view version);
    ~CommandLine();

    Command& add(std::string_view name, std::string_view doc, std::string_view example);

    // Parses, then runs the command. --help prints to stdout and gives 0. Errors print to stderr: a wrong command line
    // 2, with the nearest known name; a thrown Error its code; anything else thrown 1.
    int run(int argc, const char* const* argv);

    // The same without the edge: throws Error(usage, program, …).
    int parse_and_run(const std::vector<std::string>& arguments);

private:
    std::shared_ptr<Command::State> root_;
};

}  // namespace tenon::base
