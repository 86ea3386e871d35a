// The facade over CLI11. CLI11 splits the line into commands, options and words; names, numbers, errors and help are
// ours.
#include "tenon/base/args.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iterator>
#include <new>

#include "tenon/base/error.h"
#include "tenon/base/log.h"
#include "tenon/base/nearest.h"
#include "tenon/base/number.h"

namespace tenon::base {

struct Command::State {
    std::string full_name;  // "tenon tokenizer train"
    CLI::App* app = nullptr;
    std::unique_ptr<CLI::App> root;  // of the program's own state
    std::function<int()> action;
    std::vector<std::shared_ptr<State>> children;
    std::deque<Command> commands;  // what add() returned references to
    std::vector<std::string> options, names;
};

namespace {

[[noreturn]] void refuse(const std::string& command, std::string_view message) {
    throw Error(Code::usage, command, std::string(message) + "; see " + command + " --help");
}

int64_t integer_from(const std::string& text, const std::string& command, const std::string& name) {
    if (const auto value = parse_integer(text)) return *value;
    refuse(command, name + " must be an integer, found \"" + text + "\"");
}

double real_from(const std::string& text, const std::string& command, const std::string& name) {
    if (const auto value = parse_real(text)) return *value;
    refuse(command, name + " must be a number, found \"" + text + "\"");
}

// Puts the words behind one option (or positional) into its variable.
struct Store {
    const std::vector<std::string>& words;
    const std::string& command;
    const std::string& name;

    void operator()(std::string* target) const { *target = words.back(); }
    void operator()(int64_t* target) const { *target = integer_from(words.back(), command, name); }
    void operator()(double* target) const { *target = real_from(words.back(), command, name); }
    void operator()(std::vector<std::string>* target) const { *target = words; }
    void operator()(std::optional<std::string>* target) const { *target = words.back(); }
    void operator()(std::optional<int64_t>* target) const { *target = integer_from(words.back(), command, name); }
    void operator()(std::optional<double>* target) const { *target = real_from(words.back(), command, name); }
};

// The default as help shows it; "" where there is none.
struct Default {
    std::string operator()(const std::string* target) const { return *target; }
    std::string operator()(const int64_t* target) const { return std::to_string(*target); }
    std::string operator()(const double* target) const { return shortest(*target); }
    template <class T>
    std::string operator()(const T*) const {
        return "";
    }
};

bool takes_many(const ArgumentTarget& target) {
    return std::holds_alternative<std::vector<std::string>*>(target);
}

bool may_be_absent(const ArgumentTarget& target) {
    return std::holds_alternative<std::optional<std::string>*>(target) ||
           std::holds_alternative<std::optional<int64_t>*>(target) ||
           std::holds_alternative<std::optional<double>*>(target) || takes_many(target);
}

// CLI11 takes a word in brackets for a list and splits it at its commas. A byte in front keeps it whole.
constexpr char guard = '\x01';

std::string guarded(std::string word) {
    const bool brackets = !word.empty() && word.back() == ']' && (word.front() == '[' || word.front() == guard);
    return brackets ? guard + std::move(word) : std::move(word);
}

std::string unguarded(std::string word) {
    if (!word.empty() && word.front() == guard && word.back() == ']') word.erase(0, 1);
    return word;
}

CLI::Option* add_option(Command::State& state, const std::string& name, ArgumentTarget target, std::string_view doc) {
    const auto store = [command = state.full_name, name, target](CLI::results_t words) {
        for (std::string& word : words) word = unguarded(std::move(word));
        std::visit(Store{words, command, name}, target);
        return true;
    };
    CLI::Option* option = state.app->add_option(name, store, std::string(doc));
    // Each occurrence takes one word: "--set a=1 CONFIG" must not swallow CONFIG.
    option->type_size(1)->allow_extra_args(false);
    option->multi_option_policy(takes_many(target) ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::Throw);
    return option;
}

Command& add_command(Command::State& parent, std::string_view name, std::string_view doc, std::string_view example) {
    auto child = std::make_shared<Command::State>();
    child->full_name = parent.full_name + " " + std::string(name);
    child->app = parent.app->add_subcommand(std::string(name), std::string(doc));
    child->app->footer("Example:\n  " + std::string(example));
    child->app->set_help_flag("-h,--help", "print this help");
    child->app->allow_extras(true);
    child->options = {"--help"};
    parent.app->require_subcommand(0, 1);
    parent.names.emplace_back(name);
    parent.children.push_back(child);
    parent.commands.emplace_back(child);
    return parent.commands.back();
}

// The deepest command that the line names.
Command::State& chosen(Command::State& root) {
    Command::State* state = &root;
    for (bool deeper = true; deeper;) {
        deeper = false;
        for (const auto& child : state->children) {
            if (child->app->parsed() && !deeper) {
                state = child.get();
                deeper = true;
            }
        }
    }
    return *state;
}

// What CLI11 could not place: a mistyped command or option, or a word too many.
void refuse_leftovers(const Command::State& root, const Command::State& state) {
    const std::vector<std::string> left = root.app->remaining(true);
    for (const std::string& left_over : left) {
        const std::string word = unguarded(left_over);
        if (word == "--") continue;
        if (word.size() > 1 && word[0] == '-' && !parse_real(word)) {
            const std::string option = word.substr(0, word.find('='));
            refuse(state.full_name, "unknown option " + option + nearest_hint(option, state.options));
        }
        if (!state.names.empty())
            refuse(state.full_name, "unknown command \"" + word + "\"" + nearest_hint(word, state.names));
        refuse(state.full_name, "\"" + word + "\" is one argument too many");
    }
}

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

}  // namespace

// ---- Command
// ---------------------------------------------------------------------------------------------------------

Command::Command(std::shared_ptr<State> state) : state_(std::move(state)) {}

Command& Command::add(std::string_view name, std::string_view doc, std::string_view example) {
    return add_command(*state_, name, doc, example);
}

Command& Command::positional(std::string_view name, ArgumentTarget target, std::string_view doc) {
    CLI::Option* option = add_option(*state_, std::string(name), target, doc);
    option->type_name("");
    if (takes_many(target)) {
        option->expected(0, CLI::detail::expected_max_vector_size)->allow_extra_args(true);
    } else {
        option->required(!may_be_absent(target));
    }
    return *this;
}

Command& Command::option(std::string_view name, std::string_view value_name, ArgumentTarget target,
                         std::string_view doc) {
    CLI::Option* option = add_option(*state_, std::string(name), target, doc);
    option->type_name(std::string(value_name));
    option->default_str(std::visit(Default(), target));
    state_->options.emplace_back(name);
    return *this;
}

Command& Command::required_option(std::string_view name, std::string_view value_name, ArgumentTarget target,
                                  std::string_view doc) {
    CLI::Option* option = add_option(*state_, std::string(name), target, doc);
    option->type_name(std::string(value_name))->required();
    state_->options.emplace_back(name);
    return *this;
}

Command& Command::flag(std::string_view name, bool* target, std::string_view doc) {
    state_->app->add_flag_callback(
        std::string(name), [target] { *target = true; }, std::string(doc));
    state_->options.emplace_back(name);
    return *this;
}

Command& Command::action(std::function<int()> run) {
    state_->action = std::move(run);
    return *this;
}

// ---- CommandLine
// -----------------------------------------------------------------------------------------------------

CommandLine::CommandLine(std::string_view program, std::string_view doc, std::string_view example,
                         std::string_view version)
    : root_(std::make_shared<Command::State>()) {
    root_->full_name = program;
    root_->root = std::make_unique<CLI::App>(std::string(doc), std::string(program));
    root_->app = root_->root.get();
    root_->app->footer("Example:\n  " + std::string(example));
    root_->app->set_help_flag("-h,--help", "print this help");
    root_->app->set_version_flag("--version", std::string(program) + " " + std::string(version), "print the version");
    root_->app->allow_extras(true);
    root_->options = {"--help", "--version"};
}

CommandLine::~CommandLine() = default;

Command& CommandLine::add(std::string_view name, std::string_view doc, std::string_view example) {
    return add_command(*root_, name, doc, example);
}

int CommandLine::parse_and_run(const std::vector<std::string>& arguments) {
    std::vector<std::string> backwards;  // as CLI11 wants them
    std::transform(arguments.rbegin(), arguments.rend(), std::back_inserter(backwards), guarded);
    std::string problem;
    try {
        root_->app->parse(backwards);
    } catch (const CLI::CallForVersion& version) {
        print(std::string(version.what()) + "\n");
        return 0;
    } catch (const CLI::CallForHelp&) {
        // By way of the root: the usage line then has the whole command.
        print(root_->app->help());
        return 0;
    } catch (const CLI::ParseError& error) {
        problem = error.what();
    }
    Command::State& command = chosen(*root_);
    refuse_leftovers(*root_, command);
    if (!problem.empty()) refuse(command.full_name, problem);
    if (!command.names.empty()) {
        std::string names;
        for (const std::string& name : command.names) names += (names.empty() ? "" : ", ") + name;
        refuse(command.full_name, "a command is missing: " + names);
    }
    return command.action ? command.action() : 0;
}

int CommandLine::run(int argc, const char* const* argv) {
    const auto say = [&](const std::string& text) {
        set_progress_line("");
        log_error(text);
    };
    try {
        const int status = parse_and_run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
        if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
        say("[" + root_->full_name + "] what it printed could not be written: " + std::strerror(errno));
        return exit_code(Code::file);
    } catch (const Error& error) {
        say(error.what());
        return exit_code(error.code());
    } catch (const std::bad_alloc&) {
        say("[" + root_->full_name + "] out of memory");
    } catch (const std::exception& error) {
        say("[" + root_->full_name + "] " + error.what());
    }
    return 1;
}

}  // namespace tenon::base
