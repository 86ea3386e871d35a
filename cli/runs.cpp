// tenon runs: a table of the runs in a folder.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "tenon/base/number.h"
#include "tenon/base/unicode.h"
#include "tenon/run/run_list.h"

namespace tenon::cli {

namespace {

using base::Json;
using Row = std::array<std::string, 7>;

std::string loss_text(std::optional<double> loss) {
    return loss ? base::fixed(*loss, 4) : "-";
}

// "2025-01-31T23:59:59.123Z" to the minute.
std::string minute(const std::string& time) {
    if (time.size() < 16) return "-";
    return time.substr(0, 10) + " " + time.substr(11, 5);
}

void print(const std::vector<run::RunSummary>& runs) {
    std::vector<Row> rows = {{"run", "state", "step", "loss", "validation", "started (UTC)", "size"}};
    for (const run::RunSummary& run : runs) {
        rows.push_back({run.name, run.state, std::to_string(run.step), loss_text(run.loss), loss_text(run.validation),
                        minute(run.started), base::human_bytes(run.bytes)});
    }
    constexpr std::array<bool, 7> to_the_right = {false, false, true, true, true, false, true};
    for (const Row& row : rows) {
        std::string line;
        for (size_t column = 0; column < row.size(); ++column) {
            size_t width = 0;
            for (const Row& each : rows)
                width = std::max(width, static_cast<size_t>(base::count_characters(each[column])));
            const std::string room(width - static_cast<size_t>(base::count_characters(row[column])), ' ');
            line += (column == 0 ? "" : "  ") + (to_the_right[column] ? room + row[column] : row[column] + room);
        }
        std::printf("%s\n", line.c_str());
    }
}

}  // namespace

void add_runs(base::CommandLine& line) {
    struct Arguments {
        std::optional<std::string> folder;
        std::string sort = "name";
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    line.add("runs", "The runs in a folder: state, step, loss.", "tenon runs --sort validation")
        .positional("DIR", &arguments->folder, "the folder; runs by default")
        .option("--sort", "KEY", &arguments->sort,
                "name, state, step, loss, validation, started or size; the lowest loss, the most steps, the newest and "
                "the largest come first")
        .flag("--json", &arguments->json, "print JSON")
        .action([arguments] {
            std::vector<run::RunSummary> runs = run::list_runs(arguments->folder.value_or("runs"));
            run::sort_runs(runs, arguments->sort);
            if (!arguments->json) {
                print(runs);
                return 0;
            }
            Json list = Json::array();
            for (const run::RunSummary& run : runs) list.push(run::to_json(run));
            std::printf("%s\n", list.pretty().c_str());
            return 0;
        });
}

}  // namespace tenon::cli
