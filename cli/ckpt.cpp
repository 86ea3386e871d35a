// tenon ckpt ls | cat | diff | verify | export.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/log.h"
#include "tenon/base/number.h"
#include "tenon/base/process.h"
#include "tenon/base/sha256.h"
#include "tenon/cpu/register.h"
#include "tenon/io/checkpoint.h"
#include "tenon/io/checkpoint_report.h"
#include "tenon/io/tensor_difference.h"
#include "tenon/io/tensor_source.h"
#include "tenon/serve/export.h"
#include "tenon/train/run_check.h"

namespace tenon::cli {

namespace {

using base::Json;
using io::CheckpointReport;
using io::CheckpointState;

constexpr int different = 1;
constexpr int damaged = 3;

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

std::string padded(std::string text, size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text + "  ";
}

bool is_run(const std::string& path) {
    return base::exists(base::join_path(path, "run.json"));
}

std::string checkpoints_of(const std::string& run) {
    if (!base::is_directory(run)) throw Error(Code::file, "ckpt", run + ": there is no such run folder");
    std::string folder = base::join_path(run, "checkpoints");
    if (!is_run(run) && !base::exists(folder)) {
        throw Error(Code::file, "ckpt", run + ": is no run folder: it has no run.json");
    }
    return folder;
}

// The checkpoint, folder or file that a path means: of a run, its newest committed checkpoint.
io::TensorSource open_tensors(const std::string& path) {
    if (!base::is_directory(path) || !is_run(path)) return io::TensorSource(path);
    const std::string folder = checkpoints_of(path);
    for (;;) {
        const std::vector<int64_t> steps = io::committed_steps(folder);
        if (steps.empty()) throw Error(Code::file, "ckpt", path + ": has no checkpoint yet");
        const std::string newest = io::checkpoint_path(folder, steps.back());
        // A running process may remove it for a newer one; once open, its files stay readable.
        const auto removed = [&] { return !base::exists(base::join_path(newest, "COMMIT")); };
        try {
            io::TensorSource source(newest);
            if (source.doubts().empty() || !removed()) return source;
        } catch (const Error&) {
            if (!removed()) throw;
        }
    }
}

// ---- ls

std::string age(int64_t written) {
    using namespace std::chrono;
    const int64_t now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
    return base::human_duration(static_cast<double>(std::max<int64_t>(now - written, 0)) / 1000);
}

Json damage_json(const CheckpointReport& report) {
    Json all = Json::array();
    for (const io::CheckpointDamage& each : report.damage) {
        all.push(Json::object(
            {{"file", each.file}, {"tensor", each.tensor.empty() ? Json() : Json(each.tensor)}, {"what", each.what}}));
    }
    return all;
}

Json report_json(const CheckpointReport& report) {
    return Json::object({{"path", report.path},
                         {"step", report.step < 0 ? Json() : Json(report.step)},
                         {"state", io::name_of(report.state)},
                         {"bytes", report.bytes},
                         {"tensors", report.tensors},
                         {"written", base::utc_time(report.written)},
                         {"damage", damage_json(report)}});
}

void print_list(const std::vector<CheckpointReport>& reports) {
    print(padded("step", 10) + padded("state", 10) + padded("bytes", 12) + padded("tensors", 7) + "written\n");
    for (const CheckpointReport& each : reports) {
        const std::string tensors = each.tensors == 0 ? "-" : std::to_string(each.tensors);
        print(padded(std::to_string(each.step), 10) + padded(std::string(io::name_of(each.state)), 10) +
              padded(base::human_bytes(each.bytes), 12) + padded(tensors, 7) + base::utc_time(each.written) + " (" +
              age(each.written) + " ago)\n");
        if (each.state != CheckpointState::damaged) continue;
        for (const io::CheckpointDamage& damage : each.damage) print("            " + to_string(damage) + "\n");
    }
}

void add_ls(base::Command& ckpt) {
    struct Arguments {
        std::string run;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    ckpt.add("ls", "List a run's checkpoints; looks at sizes and at COMMIT, not at every byte.",
             "tenon ckpt ls runs/bible-1")
        .positional("RUN", &arguments->run, "the run's folder")
        .flag("--json", &arguments->json, "as JSON")
        .action([arguments] {
            const auto reports = io::inspect_checkpoints(checkpoints_of(arguments->run), io::Depth::sizes);
            if (arguments->json) {
                Json all = Json::array();
                for (const CheckpointReport& each : reports) all.push(report_json(each));
                print(all.pretty() + "\n");
            } else {
                print_list(reports);
            }
            return 0;
        });
}

// ---- cat

// Whether the bytes are those that the manifest states; says so where not.
bool is_intact(const io::TensorSource& source, const io::StoredTensor& tensor, const std::string& sha256) {
    if (tensor.sha256.empty() || tensor.sha256 == sha256) return true;
    base::log_warning("[ckpt] " + tensor.file + ": tensor \"" + tensor.name +
                      "\" does not have the SHA-256 of the manifest in " + source.path());
    return false;
}

// Gives whether there was anything to warn of.
bool warn_of_doubts(const io::TensorSource& source) {
    for (const std::string& each : source.doubts()) base::log_warning("[ckpt] " + source.path() + ": " + each);
    return !source.doubts().empty();
}

struct Look {
    const io::StoredTensor* tensor;
    std::string sha256;
    std::vector<double> values;
    io::ValueRange range;
};

Look look_at(const io::TensorSource& source, const io::StoredTensor& tensor) {
    Look look{&tensor, base::sha256_hex(source.bytes(tensor)), io::values_of(source.read(tensor)), {}};
    look.range = io::range_of(look.values);
    return look;
}

Json look_json(const Look& look) {
    Json shape = Json::array();
    for (const Dim size : look.tensor->shape) shape.push(size);
    return Json::object({{"name", look.tensor->name},
                         {"file", base::file_name(look.tensor->file)},
                         {"dtype", name_of(look.tensor->dtype)},
                         {"shape", std::move(shape)},
                         {"sha256", look.sha256},
                         {"least", look.range.least},
                         {"most", look.range.most},
                         {"not_finite", look.range.not_finite}});
}

std::string look_line(const Look& look, size_t name_width, size_t shape_width) {
    const auto text = [&](double value) { return io::value_text(value, look.tensor->dtype); };
    std::string line = padded(look.tensor->name, name_width) + padded(io::describe(*look.tensor), shape_width) +
                       padded(look.sha256.substr(0, 16), 16);
    line += look.values.empty() ? "empty" : text(look.range.least) + " to " + text(look.range.most);
    if (look.range.not_finite > 0) line += ", " + std::to_string(look.range.not_finite) + " not finite";
    return line + "\n";
}

int cat_all(const io::TensorSource& source, bool json) {
    size_t name_width = 0, shape_width = 0;
    for (const io::StoredTensor& each : source.tensors()) {
        name_width = std::max(name_width, each.name.size());
        shape_width = std::max(shape_width, io::describe(each).size());
    }
    bool intact = true;
    Json all = Json::array();
    for (const io::StoredTensor& each : source.tensors()) {
        const Look look = look_at(source, each);
        intact = is_intact(source, each, look.sha256) && intact;
        if (json) {
            all.push(look_json(look));
        } else {
            print(look_line(look, name_width, shape_width));
        }
    }
    if (json) print(all.pretty() + "\n");
    return intact ? 0 : damaged;
}

int cat_one(const io::TensorSource& source, const std::string& name, size_t first, bool json) {
    const Look look = look_at(source, source.at(name));
    const io::StoredTensor& tensor = *look.tensor;
    const size_t shown = std::min(first, look.values.size());
    if (json) {
        Json all = look_json(look);
        all.set("values", std::vector<double>(look.values.begin(), look.values.begin() + static_cast<int64_t>(shown)));
        print(all.pretty() + "\n");
    } else {
        print(look_line(look, 0, 0));
        for (size_t i = 0; i < shown; ++i) {
            print(to_string(io::index_of(static_cast<int64_t>(i), tensor.shape)) + "\t" +
                  io::value_text(look.values[i], tensor.dtype) + "\n");
        }
        if (shown < look.values.size()) {
            print("… " + std::to_string(look.values.size() - shown) + " more; --all shows them\n");
        }
    }
    return is_intact(source, tensor, look.sha256) ? 0 : damaged;
}

void add_cat(base::Command& ckpt) {
    struct Arguments {
        std::string path;
        std::optional<std::string> tensor;
        std::optional<int64_t> first;
        bool all = false;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    ckpt.add("cat", "Show what tensors a checkpoint holds, or the values of one.",
             "tenon ckpt cat runs/bible-1 model.norm.weight --first 20")
        .positional("PATH", &arguments->path, "a checkpoint, a .safetensors file, or a run: its newest checkpoint")
        .positional("TENSOR", &arguments->tensor, "a tensor's name")
        .option("--first", "N", &arguments->first, "show N values; 10 by default")
        .flag("--all", &arguments->all, "show every value")
        .flag("--json", &arguments->json, "as JSON")
        .action([arguments] {
            if (!arguments->tensor && (arguments->first || arguments->all)) {
                throw Error(Code::usage, "ckpt", "--first and --all are for the values of one tensor: give its name");
            }
            if (arguments->first && arguments->all) throw Error(Code::usage, "ckpt", "give --first or --all, not both");
            if (arguments->first.value_or(0) < 0) throw Error(Code::usage, "ckpt", "--first must be at least 0");
            cpu::register_kernels();
            const io::TensorSource source = open_tensors(arguments->path);
            const bool doubtful = warn_of_doubts(source);
            const size_t first = arguments->all ? SIZE_MAX : static_cast<size_t>(arguments->first.value_or(10));
            const int code = arguments->tensor ? cat_one(source, *arguments->tensor, first, arguments->json)
                                               : cat_all(source, arguments->json);
            return doubtful ? damaged : code;
        });
}

// ---- diff

std::string difference_text(const io::TensorDifference& each) {
    const io::StoredTensor& tensor = *each.tensor;
    return tensor.name + " " + io::describe(tensor) + ": first at " +
           to_string(io::index_of(each.first, tensor.shape)) + ": " + io::value_text(each.a, tensor.dtype) + " and " +
           io::value_text(each.b, tensor.dtype) + "; " + std::to_string(each.differing) + " of " +
           std::to_string(each.elements) + " differ, by at most " + base::significant(each.absolute, 3) +
           ", relatively " + base::significant(each.relative, 3) + "\n";
}

void print_difference(const io::SourceDifference& found) {
    for (const auto* each : found.only_a) print("only in A: " + each->name + " " + io::describe(*each) + "\n");
    for (const auto* each : found.only_b) print("only in B: " + each->name + " " + io::describe(*each) + "\n");
    for (const auto& [a, b] : found.misshapen) {
        print(a->name + " is " + io::describe(*a) + " in A and " + io::describe(*b) + " in B\n");
    }
    for (const io::TensorDifference& each : found.differing) print(difference_text(each));
}

Json difference_json(const io::SourceDifference& found) {
    Json only_a = Json::array(), only_b = Json::array(), misshapen = Json::array(), differing = Json::array();
    for (const auto* each : found.only_a) only_a.push(each->name);
    for (const auto* each : found.only_b) only_b.push(each->name);
    for (const auto& [a, b] : found.misshapen) {
        misshapen.push(Json::object({{"name", a->name}, {"a", io::describe(*a)}, {"b", io::describe(*b)}}));
    }
    for (const io::TensorDifference& each : found.differing) {
        Json index = Json::array();
        for (const Dim at : io::index_of(each.first, each.tensor->shape)) index.push(at);
        differing.push(Json::object({{"name", each.tensor->name},
                                     {"first", std::move(index)},
                                     {"a", each.a},
                                     {"b", each.b},
                                     {"differing", each.differing},
                                     {"elements", each.elements},
                                     {"absolute", each.absolute},
                                     {"relative", each.relative}}));
    }
    return Json::object({{"only_a", std::move(only_a)},
                         {"only_b", std::move(only_b)},
                         {"misshapen", std::move(misshapen)},
                         {"differing", std::move(differing)}});
}

// Whether every tensor has the bytes that the manifest states.
bool all_intact(const io::TensorSource& source) {
    bool intact = !warn_of_doubts(source);
    for (const io::StoredTensor& each : source.tensors()) {
        if (!each.sha256.empty()) intact = is_intact(source, each, base::sha256_hex(source.bytes(each))) && intact;
    }
    return intact;
}

void add_diff(base::Command& ckpt) {
    struct Arguments {
        std::string a, b;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    ckpt.add("diff", "Compare the tensors of two checkpoints, bit by bit; equal ones print nothing.",
             "tenon ckpt diff runs/bible-1/checkpoints/step-200 runs/bible-2")
        .positional("A", &arguments->a, "a checkpoint, a .safetensors file, or a run: its newest checkpoint")
        .positional("B", &arguments->b, "what to compare it with")
        .flag("--json", &arguments->json, "as JSON")
        .action([arguments] {
            cpu::register_kernels();
            const io::TensorSource a = open_tensors(arguments->a), b = open_tensors(arguments->b);
            const bool intact_a = all_intact(a), intact_b = all_intact(b);
            const io::SourceDifference found = io::difference(a, b);
            if (arguments->json) {
                print(difference_json(found).pretty() + "\n");
            } else {
                print_difference(found);
            }
            if (!intact_a || !intact_b) return damaged;
            return found.empty() ? 0 : different;
        });
}

// ---- verify

void print_verdict(const CheckpointReport& report) {
    if (report.state == CheckpointState::unfinished) {
        print(report.path + ": unfinished: it has no COMMIT, and is no checkpoint\n");
    } else if (report.state == CheckpointState::set_aside) {
        print(report.path + ": set aside: found damaged when the run was resumed\n");
    } else if (report.damage.empty()) {
        print(report.path + ": good: " + std::to_string(report.tensors) + " tensors, " +
              base::human_bytes(report.bytes) + "\n");
    } else {
        print(report.path + ": damaged: " + std::to_string(report.good_tensors) + " of " +
              std::to_string(report.tensors) + " tensors are good\n");
        for (const io::CheckpointDamage& each : report.damage) print("  " + to_string(each) + "\n");
    }
}

int verify_checkpoint(const std::string& path, bool json) {
    const CheckpointReport report = io::inspect_checkpoint(path, io::Depth::bytes);
    const bool good = report.damage.empty() && report.state != CheckpointState::unfinished;
    if (json) {
        print(report_json(report).pretty() + "\n");
    } else {
        print_verdict(report);
    }
    return good ? 0 : damaged;
}

int verify_run(const std::string& path, bool json) {
    const auto reports = io::inspect_checkpoints(checkpoints_of(path), io::Depth::bytes);
    const CheckpointReport* newest = nullptr;
    bool good = true;
    Json checkpoints = Json::array(), files = Json::array();
    for (const CheckpointReport& each : reports) {
        if (each.state == CheckpointState::committed) newest = &each;
        good = good && each.state != CheckpointState::damaged;
        checkpoints.push(report_json(each));
        if (!json) print_verdict(each);
    }
    for (const train::FileFinding& each : train::check_run_files(path, newest == nullptr ? "" : newest->path)) {
        good = good && each.good;
        files.push(Json::object({{"file", each.file}, {"good", each.good}, {"what", each.what}}));
        if (!json) print(each.file + (each.good ? ": good: " : ": damaged: ") + each.what + "\n");
    }
    const std::string usable = newest == nullptr ? "" : newest->path;
    if (json) {
        print(Json::object({{"checkpoints", std::move(checkpoints)},
                            {"files", std::move(files)},
                            {"newest_good", usable.empty() ? Json() : Json(usable)}})
                  .pretty() +
              "\n");
    } else {
        print("newest good checkpoint: " + (usable.empty() ? "none" : usable) + "\n");
    }
    if (!good) return damaged;
    if (newest == nullptr) throw Error(Code::file, "ckpt", path + ": has no checkpoint yet");
    return 0;
}

void add_verify(base::Command& ckpt) {
    struct Arguments {
        std::string path;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    ckpt.add("verify", "Read every byte of a run's checkpoints, or of one, and name what is damaged.",
             "tenon ckpt verify runs/bible-1")
        .positional("PATH", &arguments->path, "a run's folder, or a checkpoint's")
        .flag("--json", &arguments->json, "as JSON")
        .action([arguments] {
            const std::string& path = arguments->path;
            if (!base::is_directory(path)) throw Error(Code::file, "ckpt", path + ": there is no such folder");
            const bool run = is_run(path) || base::exists(base::join_path(path, "checkpoints"));
            return run ? verify_run(path, arguments->json) : verify_checkpoint(path, arguments->json);
        });
}

// ---- export

void add_export(base::Command& ckpt) {
    struct Arguments {
        std::string run, folder;
        std::optional<int64_t> step;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    ckpt.add("export", "Write a checkpoint as a folder that Hugging Face Transformers loads.",
             "tenon ckpt export runs/bible-1 exported --step 200")
        .positional("RUN", &arguments->run, "the run's folder")
        .positional("DIR", &arguments->folder, "the folder to write; must not exist")
        .option("--step", "N", &arguments->step, "the checkpoint of that step; the newest good one by default")
        .flag("--json", &arguments->json, "as JSON")
        .action([arguments] {
            const serve::Exported done = serve::export_run(arguments->run, arguments->folder, arguments->step);
            if (arguments->json) {
                print(Json::object({{"folder", arguments->folder},
                                    {"step", done.step},
                                    {"bytes", done.bytes},
                                    {"files", Json(done.files)}})
                          .pretty() +
                      "\n");
                return 0;
            }
            std::string files;
            for (const std::string& each : done.files) files += (files.empty() ? "" : ", ") + each;
            print(arguments->folder + ": step " + std::to_string(done.step) + ", " + base::human_bytes(done.bytes) +
                  ": " + files + "\n");
            return 0;
        });
}

}  // namespace

void add_ckpt(base::CommandLine& line) {
    base::Command& ckpt =
        line.add("ckpt", "Look at checkpoints, compare, check and export them.", "tenon ckpt verify runs/bible-1");
    add_ls(ckpt);
    add_cat(ckpt);
    add_diff(ckpt);
    add_verify(ckpt);
    add_export(ckpt);
}

}  // namespace tenon::cli
