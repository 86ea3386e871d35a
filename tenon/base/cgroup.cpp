#include "tenon/base/cgroup.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/number.h"

namespace tenon::base {

namespace {

std::string text_of(const std::string& path) {
    try {
        return exists(path) ? read_file(path, 1 << 20) : "";
    } catch (const Error&) {
        return "";
    }
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> found;
    while (true) {
        const size_t start = text.find_first_not_of(" \t\n");
        if (start == std::string_view::npos) return found;
        text.remove_prefix(start);
        const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
        found.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

std::optional<int64_t> number_in(const std::string& path) {
    const std::string text = text_of(path);
    const auto found = words(text);
    return found.empty() ? std::nullopt : parse_integer(found.front());
}

// The value behind `name` in a file of "name value" lines.
int64_t field(const std::string& path, std::string_view name) {
    const std::string text = text_of(path);
    const auto found = words(text);
    for (size_t i = 0; i + 1 < found.size(); i += 2) {
        if (found[i] == name) return parse_integer(found[i + 1]).value_or(0);
    }
    return 0;
}

void limit_processors(CgroupLimits& limits, int64_t quota, int64_t period) {
    if (quota <= 0 || period <= 0) return;
    const double processors = static_cast<double>(quota) / static_cast<double>(period);
    limits.processors = limits.processors > 0 ? std::min(limits.processors, processors) : processors;
}

void limit_memory(CgroupLimits& limits, int64_t memory, int64_t used, int64_t droppable) {
    // Version 1 writes "no limit" as a huge number.
    if (memory <= 0 || memory >= int64_t{1} << 60 || (limits.memory > 0 && limits.memory <= memory)) return;
    limits.memory = memory;
    limits.memory_used = std::max<int64_t>(used - droppable, 0);
}

void read_version_2(CgroupLimits& limits, const std::string& group) {
    const std::string text = text_of(group + "/cpu.max");
    const auto cpu = words(text);
    if (cpu.size() == 2) {
        limit_processors(limits, parse_integer(cpu[0]).value_or(0), parse_integer(cpu[1]).value_or(0));
    }
    if (const auto memory = number_in(group + "/memory.max")) {
        limit_memory(limits, *memory, number_in(group + "/memory.current").value_or(0),
                     field(group + "/memory.stat", "inactive_file"));
    }
}

void read_version_1_cpu(CgroupLimits& limits, const std::string& group) {
    limit_processors(limits, number_in(group + "/cpu.cfs_quota_us").value_or(0),
                     number_in(group + "/cpu.cfs_period_us").value_or(0));
}

void read_version_1_memory(CgroupLimits& limits, const std::string& group) {
    if (const auto memory = number_in(group + "/memory.limit_in_bytes")) {
        limit_memory(limits, *memory, number_in(group + "/memory.usage_in_bytes").value_or(0),
                     field(group + "/memory.stat", "total_inactive_file"));
    }
}

// The group and all above it. In a container the path may name groups that are not mounted: those read as empty.
template <class Read>
void for_each_level(const std::string& mount, std::string group, Read read) {
    while (true) {
        read(mount + (group == "/" ? "" : group));
        if (group.empty() || group == "/") return;
        group = parent_path(group);
    }
}

}  // namespace

CgroupLimits read_cgroup_limits(const std::string& membership, const std::string& mount) {
    CgroupLimits limits;
    std::string_view rest = membership;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        // "hierarchy:controllers:path"; version 2 is "0::path".
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) continue;
        const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
        const std::string group(line.substr(second + 1));
        if (group.empty() || group.front() != '/') continue;
        if (controllers == ",,") {
            for_each_level(mount, group, [&](const std::string& path) { read_version_2(limits, path); });
        }
        if (controllers.find(",cpu,") != std::string::npos) {
            for_each_level(mount + "/cpu", group, [&](const std::string& path) { read_version_1_cpu(limits, path); });
        }
        if (controllers.find(",memory,") != std::string::npos) {
            for_each_level(mount + "/memory", group,
                           [&](const std::string& path) { read_version_1_memory(limits, path); });
        }
    }
    return limits;
}

}  // namespace tenon::base
