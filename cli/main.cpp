// The `tenon` program.
#include "cli/commands.h"
#include "tenon/autograd/autograd.h"
#include "tenon/base/process.h"
#include "tenon/cpu/float_environment.h"
#include "tenon/cpu/register.h"

int main(int argc, char** argv) {
    tenon::base::prepare_process();
    namespace cli = tenon::cli;
    // What a preloaded library switched on; learning rates and clip factors are computed outside the kernels.
    const tenon::cpu::FloatEnvironment environment;
    tenon::base::CommandLine line("tenon", "Train language models, every bit accounted for.",
                                  "tenon train examples/bible.toml", tenon::base::build().version);
    cli::add_train(line);
    cli::add_resume(line);
    cli::add_generate(line);
    cli::add_show(line);
    cli::add_runs(line);
    cli::add_diff(line);
    cli::add_tokenizer(line);
    cli::add_ckpt(line);
    cli::add_doctor(line);
    tenon::autograd::register_autograd();
    return line.run(argc, argv);
}
