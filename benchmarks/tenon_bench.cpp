// tenon_bench [SECTION...] [--threads N] [--turns N] [--only TEXT] [--config FILE] [--step-seconds N]
// Sections: gemm attention norms adamw loss step; all by default. --step-seconds N prints nothing but the median
// seconds of N training steps. TENON_CPU=avx2|avx512|plain chooses the instruction set.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "benchmarks/sections.h"
#include "tenon/autograd/autograd.h"
#include "tenon/base/error.h"
#include "tenon/base/number.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/peak.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/dispatch.h"

namespace tenon::bench {

namespace {

struct Arguments {
    int threads = 0, turns = 5, step_seconds = 0;
    std::string only, config = "examples/bible.toml";
    std::vector<std::string> sections;

    bool wants(const std::string& section) const {
        return sections.empty() || std::find(sections.begin(), sections.end(), section) != sections.end();
    }
};

int count(const std::string& option, const std::string& text) {
    const auto value = base::parse_integer(text);
    if (!value || *value < 1 || *value > 1000000) {
        throw Error(Code::usage, "tenon_bench", option + " is \"" + text + "\"; it takes a number from 1 on");
    }
    return static_cast<int>(*value);
}

Arguments parse(const std::vector<std::string>& words) {
    const std::vector<std::string> sections = {"gemm", "attention", "norms", "adamw", "loss", "step"};
    Arguments a;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (std::find(sections.begin(), sections.end(), word) != sections.end()) {
            a.sections.push_back(word);
            continue;
        }
        const std::string value = i + 1 < words.size() ? words[++i] : "";
        if (word == "--threads") {
            a.threads = count(word, value);
        } else if (word == "--turns") {
            a.turns = count(word, value);
        } else if (word == "--step-seconds") {
            a.step_seconds = count(word, value);
        } else if (word == "--only") {
            a.only = value;
        } else if (word == "--config") {
            a.config = value;
        } else {
            throw Error(Code::usage, "tenon_bench",
                        "\"" + word + "\" is neither a section (gemm attention norms adamw loss step) nor one of " +
                            "--threads --turns --only --config --step-seconds");
        }
    }
    return a;
}

void print_head(const Arguments& a) {
    const double one = cpu::measure_peak_flops(1, 0.1), all = cpu::measure_peak_flops(cpu::threads(), 0.1);
    std::printf("%s, %d threads: f32 peak %.1f GFLOP/s, %.1f on one thread; medians of %d turns (least to greatest)\n",
                std::string(cpu::name(cpu::instruction_set())).c_str(), cpu::threads(), all / 1e9, one / 1e9, a.turns);
}

void run(const Arguments& a) {
    cpu::register_kernels();
    autograd::register_autograd();
    if (a.threads > 0) cpu::set_threads(a.threads);
    if (a.step_seconds > 0) {
        std::printf("%.6f\n", step_seconds(a.config, a.step_seconds));
        return;
    }
    print_head(a);
    Bench bench(cpu::threads(), a.turns, a.only);
    if (a.wants("gemm")) gemm(bench);
    if (a.wants("attention")) attention(bench);
    if (a.wants("norms")) norms(bench);
    if (a.wants("adamw")) adamw(bench);
    if (a.wants("loss")) linear_cross_entropy(bench);
    if (a.wants("step")) step(bench, a.config);
    bench.summary();
}

}  // namespace

}  // namespace tenon::bench

int main(int words, char** word) {
    try {
        tenon::bench::run(tenon::bench::parse({word + 1, word + words}));
    } catch (const tenon::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.code() == tenon::Code::usage ? 2 : 1;
    }
    return 0;
}
