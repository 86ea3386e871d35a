#include "tenon/run/run_list.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/log.h"
#include "tenon/base/nearest.h"
#include "tenon/base/unicode.h"
#include "tenon/run/digest_ledger.h"
#include "tenon/run/event_log.h"
#include "tenon/run/run_folder.h"

namespace tenon::run {

namespace {

using base::Json;

// Bytes of the files below a folder. Files come and go while a run works: what is gone counts nothing.
int64_t bytes_below(const std::string& folder, int depth = 8) {
    int64_t bytes = 0;
    try {
        for (const std::string& name : base::list_directory(folder)) {
            const std::string path = base::join_path(folder, name);
            if (base::is_regular_file(path)) {
                bytes += base::file_size(path);
            } else if (depth > 0 && base::is_directory(path)) {
                bytes += bytes_below(path, depth - 1);
            }
        }
    } catch (const Error&) {
        return bytes;
    }
    return bytes;
}

bool is_digit(char each) {
    return each >= '0' && each <= '9';
}

// Stretches of digits compare as numbers.
bool comes_before(std::string_view a, std::string_view b) {
    size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (is_digit(a[i]) && is_digit(b[j])) {
            const auto number = [](std::string_view text, size_t& at) {
                while (at < text.size() && text[at] == '0') ++at;
                const size_t start = at;
                while (at < text.size() && is_digit(text[at])) ++at;
                return text.substr(start, at - start);
            };
            const std::string_view x = number(a, i), y = number(b, j);
            if (x.size() != y.size()) return x.size() < y.size();
            if (x != y) return x < y;
            continue;
        }
        if (a[i] != b[j]) return a[i] < b[j];
        ++i;
        ++j;
    }
    if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
    return a < b;  // "a-01" and "a-1"
}

std::optional<double> last_validation(const std::string& path) {
    if (!base::exists(path)) return std::nullopt;
    const std::string text = base::read_file(path);
    // Its line alone is parsed: a long run has many of the others.
    const size_t at = text.rfind("{\"event\":\"validation\"");
    const size_t end = at == std::string::npos ? at : text.find('\n', at);
    if (end == std::string::npos) return std::nullopt;
    return base::parse_json(std::string_view(text).substr(at, end - at), path).at("nats_per_token").real();
}

void add_steps(RunSummary& run, const std::string& path) {
    if (!base::exists(path)) return;
    const std::vector<DigestRecord> records = read_digests(path);
    if (records.empty() || records.back().step == 0) return;
    run.step = records.back().step;
    run.loss = records.back().loss;
}

}  // namespace

std::string state_of_run(const std::string& run_path, const Json& record) {
    std::string state = record.at("outcome").at("state").string();
    if (state != "running" || base::is_locked(base::join_path(run_path, "lock"))) return state;
    // It may have ended between the reading and the looking.
    const std::string again = read_record(run_path).at("outcome").at("state").string();
    return again == "running" ? "stopped" : again;
}

RunSummary summarize_run(const std::string& run_path) {
    RunSummary run;
    run.name = base::replace_invalid_utf8(base::file_name(run_path));
    run.bytes = bytes_below(run_path);
    try {
        const Json record = read_record(run_path);
        run.state = state_of_run(run_path, record);
        run.started = record.at("host").at("started").string();
        add_steps(run, base::join_path(run_path, "digests.bin"));
        run.validation = last_validation(base::join_path(run_path, "events.jsonl"));
    } catch (const Error& error) {
        base::log_warning(error.what());
        run.state = "unreadable";
    }
    return run;
}

std::vector<RunSummary> list_runs(const std::string& folder) {
    if (!base::is_directory(folder)) throw Error(Code::file, "runs", folder + ": there is no such folder");
    std::vector<RunSummary> runs;
    for (const std::string& name : base::list_directory(folder)) {
        const std::string path = base::join_path(folder, name);
        if (base::is_directory(path) && base::exists(base::join_path(path, "run.json"))) {
            runs.push_back(summarize_run(path));
        }
    }
    sort_runs(runs, "name");
    return runs;
}

const std::vector<std::string_view>& run_sort_keys() {
    static const std::vector<std::string_view> keys = {"name",       "state",   "step", "loss",
                                                       "validation", "started", "size"};
    return keys;
}

void sort_runs(std::vector<RunSummary>& runs, std::string_view key) {
    const auto sort = [&](auto before) { std::stable_sort(runs.begin(), runs.end(), before); };
    // A loss that is not a number is none.
    const auto lower = [](std::optional<double> a, std::optional<double> b) {
        const bool has_a = a && *a == *a, has_b = b && *b == *b;
        return has_a && has_b ? *a < *b : has_a && !has_b;
    };
    using Run = const RunSummary&;
    if (key == "name") return sort([](Run a, Run b) { return comes_before(a.name, b.name); });
    if (key == "state") return sort([](Run a, Run b) { return a.state < b.state; });
    if (key == "step") return sort([](Run a, Run b) { return a.step > b.step; });
    if (key == "loss") return sort([&](Run a, Run b) { return lower(a.loss, b.loss); });
    if (key == "validation") return sort([&](Run a, Run b) { return lower(a.validation, b.validation); });
    if (key == "started") return sort([](Run a, Run b) { return a.started > b.started; });
    if (key == "size") return sort([](Run a, Run b) { return a.bytes > b.bytes; });
    throw Error(Code::usage, "runs",
                "runs are not sorted by \"" + std::string(key) + "\"" + base::nearest_hint(key, run_sort_keys()));
}

Json to_json(const RunSummary& run) {
    return Json::object({{"name", run.name},
                         {"state", run.state},
                         {"step", run.step},
                         {"loss", run.loss ? Json(*run.loss) : Json()},
                         {"validation", run.validation ? Json(*run.validation) : Json()},
                         {"started", run.started.empty() ? Json() : Json(run.started)},
                         {"bytes", run.bytes}});
}

}  // namespace tenon::run
