// tenon train, tenon resume.
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/log.h"
#include "tenon/base/number.h"
#include "tenon/base/unicode.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/run/run_folder.h"
#include "tenon/serve/generator.h"
#include "tenon/train/pretrain.h"

namespace tenon::cli {

namespace {

constexpr int64_t sample_characters = 300;

// "examples/bible.toml" -> "bible"
std::string config_name(const std::string& path) {
    const std::string name = base::file_name(path);
    const size_t dot = name.rfind('.');
    return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// A model that says nothing (its weights may not be finite) does not undo its training.
void print_sample(const std::string& run_path) try {
    serve::Generator generator = serve::Generator::from_run(run_path);
    std::string text;
    generator.generate("\n", sample_characters, {.temperature = 0.8, .top_k = 50}, [&](std::string_view piece) {
        text += piece;
        return base::count_characters(text) < sample_characters;
    });
    std::printf("\n%s\n\n", text.c_str());
} catch (const Error& error) {
    base::log_warning(std::string("no sample of the model's text: ") + error.what());
}

int report(const train::PretrainResult& result) {
    if (result.signal != 0) {
        base::log_info("stopped after step " + std::to_string(result.steps_done) + "; go on with `tenon resume " +
                       result.run_path + "`");
        return 128 + result.signal;
    }
    std::printf("training loss    %s -> %s nats/token\n", base::fixed(result.first_loss, 4).c_str(),
                base::fixed(result.last_loss, 4).c_str());
    if (result.has_validation) {
        std::printf("validation       %s nats/token, %s bits/byte\n", base::fixed(result.validation_nats, 4).c_str(),
                    base::fixed(result.validation_bits, 4).c_str());
    }
    if (result.tokens_per_second > 0) {
        std::printf("speed            %s, %s of the f32 peak measured in this process\n",
                    base::human_rate(result.tokens_per_second, "tokens").c_str(),
                    base::percent(result.share_of_peak).c_str());
    }
    print_sample(result.run_path);
    std::printf("run              %s\n", result.run_path.c_str());
    return 0;
}

}  // namespace

void add_train(base::CommandLine& line) {
    struct Arguments {
        std::string config;
        std::optional<std::string> run;
        std::vector<std::string> overrides;
        std::optional<int64_t> threads;
    };
    const auto arguments = std::make_shared<Arguments>();
    line.add("train", "Train a model as a configuration says.", "tenon train examples/bible.toml --set train.steps=40")
        .positional("CONFIG", &arguments->config, "the configuration, a TOML file")
        .option("--run", "DIR", &arguments->run, "the run's folder; runs/<config>-<first free number> by default")
        .option("--set", "KEY=VALUE", &arguments->overrides, "replace a value of the configuration; may be repeated")
        .option("--threads", "N", &arguments->threads, "threads that compute; changes no bit of the result")
        .action([arguments] {
            cpu::register_kernels();
            if (arguments->threads) cpu::set_threads(*arguments->threads);
            const train::RunConfig config = train::read_run_config(arguments->config, arguments->overrides);
            if (arguments->run) return report(train::pretrain(config, *arguments->run));
            const run::NumberedFolder folder("runs", config_name(arguments->config));
            return report(train::pretrain(config, folder.path()));
        });
}

void add_resume(base::CommandLine& line) {
    struct Arguments {
        std::string run;
        train::ResumeOptions options;
        std::optional<int64_t> threads;
    };
    const auto arguments = std::make_shared<Arguments>();
    line.add("resume", "Go on with a run that was interrupted, as if it had not been.", "tenon resume runs/bible-1")
        .positional("RUN", &arguments->run, "the run's folder")
        .option("--allow", "CHANGE", &arguments->options.allow,
                "go on although this changed: data, tokenizer, config or numerics; recorded; may be repeated")
        .option("--set", "KEY=VALUE", &arguments->options.sets,
                "replace train.steps, train.log_every, checkpoint.every, checkpoint.keep or data.path; any other key "
                "needs --allow config; may be repeated")
        .option("--threads", "N", &arguments->threads, "threads that compute; changes no bit of the result")
        .action([arguments] {
            cpu::register_kernels();
            if (arguments->threads) cpu::set_threads(*arguments->threads);
            return report(train::resume_pretrain(arguments->run, arguments->options));
        });
}

}  // namespace tenon::cli
