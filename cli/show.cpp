// tenon show: a run's record, in short, as JSON, its digests, or its loss curve.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/number.h"
#include "tenon/io/checkpoint.h"
#include "tenon/run/digest_ledger.h"
#include "tenon/run/event_log.h"
#include "tenon/run/loss_plot.h"
#include "tenon/run/run_folder.h"
#include "tenon/run/run_list.h"

namespace tenon::cli {

namespace {

using base::Json;

void print_digests(const std::string& run_path) {
    const std::string text = run::to_text(run::read_digests(base::join_path(run_path, "digests.bin")));
    std::fputs(text.c_str(), stdout);
}

Json summary(const std::string& run_path) {
    Json all = run::read_record(run_path);
    Json losses = Json::array();
    Json validation;
    for (const Json& event : run::read_events(base::join_path(run_path, "events.jsonl"))) {
        const std::string& kind = event.at("event").string();
        if (kind == "step") losses.push(event.at("loss"));
        if (kind == "validation") validation = event;
    }
    Json checkpoints = Json::array();
    for (const int64_t step : io::committed_steps(base::join_path(run_path, "checkpoints"))) checkpoints.push(step);
    all.set("losses", std::move(losses));
    all.set("validation", std::move(validation));
    all.set("checkpoints", std::move(checkpoints));
    return all;
}

void print_section(const Json& config, const Json& origins) {
    for (const auto& [section, keys] : config.object_value()) {
        for (const auto& [key, value] : keys.object_value()) {
            if (value.is_null()) continue;
            const std::string name = section + "." + key;
            std::printf("  %-34s %-18s %s\n", name.c_str(), value.dump().c_str(),
                        origins.at(section).at(key).string().c_str());
        }
    }
}

void print_summary(const std::string& run_path) {
    const Json all = summary(run_path);
    // run.json is written at the start and at the end; the events say how far a run is that has no end yet.
    const auto& losses = all.at("losses").array_value();
    std::printf("%s: %s after step %zu\n", run_path.c_str(), run::state_of_run(run_path, all).c_str(), losses.size());
    if (!losses.empty()) {
        std::printf("training loss    %s -> %s\n", base::fixed(losses.front().real(), 4).c_str(),
                    base::fixed(losses.back().real(), 4).c_str());
    }
    const Json& validation = all.at("validation");
    if (!validation.is_null()) {
        std::printf("validation       %s nats/token, %s bits/byte\n",
                    base::fixed(validation.at("nats_per_token").real(), 4).c_str(),
                    base::fixed(validation.at("bits_per_byte").real(), 4).c_str());
    }
    std::printf("tier             %s, %lld leaves\n", all.at("contract").at("tier").string().c_str(),
                static_cast<long long>(all.at("contract").at("leaves").integer()));
    std::printf("checkpoints      %s\n", all.at("checkpoints").dump().c_str());
    std::printf("configuration    (value, and where it is from)\n");
    print_section(all.at("config"), all.at("origins"));
}

struct Losses {
    std::vector<run::LossPoint> training, validation;
};

Losses losses_of(const std::string& run_path) {
    run::read_record(run_path);  // refuses what is no run
    Losses losses;
    const std::string path = base::join_path(run_path, "events.jsonl");
    if (!base::exists(path)) return losses;
    for (const Json& event : run::read_events(path)) {
        const std::string& kind = event.at("event").string();
        if (kind == "step") losses.training.push_back({event.at("step").integer(), event.at("loss").real()});
        if (kind == "validation") {
            losses.validation.push_back({event.at("step").integer(), event.at("nats_per_token").real()});
        }
    }
    return losses;
}

int64_t terminal_columns() {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

void plot(const std::string& run_path) {
    constexpr int64_t rows = 16;
    std::fputs(run::terminal_plot(losses_of(run_path).training, terminal_columns(), rows).c_str(), stdout);
}

void write_svg(const std::string& run_path, const std::string& file) {
    const Losses losses = losses_of(run_path);
    base::write_file_atomically(file, run::svg_plot(run_path, losses.training, losses.validation));
}

}  // namespace

void add_show(base::CommandLine& line) {
    struct Arguments {
        std::string run;
        bool json = false;
        bool digests = false;
        bool plot = false;
        std::optional<std::string> svg;
    };
    const auto arguments = std::make_shared<Arguments>();
    line.add("show", "What a run was and what came of it.", "tenon show runs/bible-1 --digests")
        .positional("RUN", &arguments->run, "the run's folder")
        .flag("--json", &arguments->json, "the whole record as JSON")
        .flag("--digests", &arguments->digests, "only step, loss, gradient digest, parameter digest, tab-separated")
        .flag("--plot", &arguments->plot, "only the loss curve, drawn in the terminal")
        .option("--svg", "FILE", &arguments->svg, "write the loss curve to an SVG file")
        .action([arguments] {
            if (arguments->digests + arguments->json + arguments->plot > 1) {
                throw Error(Code::usage, "show", "give --json, --digests or --plot, not both");
            }
            if (arguments->svg) write_svg(arguments->run, *arguments->svg);
            if (arguments->plot) {
                plot(arguments->run);
                return 0;
            }
            if (arguments->svg && !arguments->digests && !arguments->json) return 0;
            if (arguments->digests) {
                print_digests(arguments->run);
            } else if (arguments->json) {
                std::printf("%s\n", summary(arguments->run).pretty().c_str());
            } else {
                print_summary(arguments->run);
            }
            return 0;
        });
}

}  // namespace tenon::cli
