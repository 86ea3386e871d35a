// tenon generate.
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "tenon/base/error.h"
#include "tenon/base/log.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/serve/generator.h"

namespace tenon::cli {

void add_generate(base::CommandLine& line) {
    struct Arguments {
        std::string run;
        std::string prompt;
        int64_t tokens = 100;
        double temperature = 1;
        int64_t top_k = 0;
        double top_p = 1;
        int64_t seed = 0;
        std::optional<int64_t> threads;
    };
    const auto arguments = std::make_shared<Arguments>();
    line.add("generate", "Continue a prompt with a run's newest checkpoint.",
             "tenon generate runs/bible-1 --prompt \"In the beginning\" --temperature 0.8")
        .positional("RUN", &arguments->run, "the run's folder")
        .required_option("--prompt", "TEXT", &arguments->prompt,
                         "what the text begins with; an empty one stands for a new line")
        .option("--tokens", "N", &arguments->tokens, "tokens to add")
        .option("--temperature", "T", &arguments->temperature, "0: always the likeliest token")
        .option("--top-k", "K", &arguments->top_k, "draw among the K likeliest; 0: all")
        .option("--top-p", "P", &arguments->top_p, "draw among the likeliest that together have probability P")
        .option("--seed", "S", &arguments->seed, "the same seed gives the same text")
        .option("--threads", "N", &arguments->threads, "threads that compute; changes no bit of the result")
        .action([arguments] {
            cpu::register_kernels();
            if (arguments->threads) cpu::set_threads(*arguments->threads);
            if (arguments->seed < 0) throw Error(Code::usage, "generate", "the seed must be at least 0");
            serve::Generator generator = serve::Generator::from_run(arguments->run);
            // The prompt is shown once it is known to be good.
            std::string before = arguments->prompt;
            const auto show = [&](std::string_view piece) {
                std::fputs(before.c_str(), stdout);
                before.clear();
                std::fwrite(piece.data(), 1, piece.size(), stdout);
                return std::fflush(stdout) == 0;
            };
            generator.generate(
                arguments->prompt, arguments->tokens,
                {arguments->temperature, arguments->top_k, arguments->top_p, static_cast<uint64_t>(arguments->seed)},
                show);
            show("\n");
            if (generator.forgot()) {
                base::log_warning("[generate] the text outgrew the model's context, so its beginning was forgotten");
            }
            return 0;
        });
}

}  // namespace tenon::cli
