#include "tenon/base/process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/base/cgroup.h"
#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/number.h"

namespace tenon::base {

namespace {

std::string text_of(const std::string& path) {
    try {
        return read_file(path, 16 << 20);
    } catch (const Error&) {
        return "";  // not every system has every file of /proc
    }
}

// What stands behind "name:" at the beginning of a line, without spaces around it.
std::optional<std::string> line_value(std::string_view text, std::string_view name) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.substr(0, name.size()) != name) continue;
        const size_t colon = line.find_first_not_of(" \t", name.size());
        if (colon == std::string_view::npos || line[colon] != ':') continue;
        const size_t start = line.find_first_not_of(" \t", colon + 1);
        if (start == std::string_view::npos) return "";
        return std::string(line.substr(start, line.find_last_not_of(" \t") + 1 - start));
    }
    return std::nullopt;
}

// A line like "MemTotal:  16310124 kB", in bytes.
int64_t kibibytes(std::string_view text, std::string_view name) {
    const std::string value = line_value(text, name).value_or("");
    return parse_integer(std::string_view(value).substr(0, value.find(' '))).value_or(0) * 1024;
}

const CgroupLimits limits() {
    return read_cgroup_limits(text_of("/proc/self/cgroup"), "/sys/fs/cgroup");
}

}  // namespace

void prepare_process() {
    for (int descriptor = 0; descriptor <= 2; ++descriptor) {
        if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
        // The lowest free number is this one.
        if (::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) std::abort();
    }
    ::signal(SIGXFSZ, SIG_IGN);
}

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

std::string kernel_name() {
    utsname names{};
    if (::uname(&names) < 0) return "unknown";
    return std::string(names.sysname) + " " + names.release;
}

std::string processor_name() {
    const std::string text = text_of("/proc/cpuinfo");
    return line_value(text, "model name").value_or(line_value(text, "Model").value_or("unknown"));
}

int64_t memory_total() {
    const int64_t machine = kibibytes(text_of("/proc/meminfo"), "MemTotal");
    const int64_t group = limits().memory;
    return group > 0 && (machine == 0 || group < machine) ? group : machine;
}

int64_t memory_available() {
    const int64_t machine = kibibytes(text_of("/proc/meminfo"), "MemAvailable");
    const CgroupLimits group = limits();
    if (group.memory == 0) return machine;
    return std::min(machine, std::max<int64_t>(group.memory - group.memory_used, 0));
}

int64_t memory_resident() {
    return kibibytes(text_of("/proc/self/status"), "VmRSS");
}

int64_t processors_online() {
    return std::max<int64_t>(::sysconf(_SC_NPROCESSORS_ONLN), 1);
}

int64_t processors_allowed() {
    // The mask must be as large as the kernel's; its size is not told, so it grows until it fits.
    for (int processors = 1024; processors <= (1 << 20); processors *= 2) {
        cpu_set_t* const set = CPU_ALLOC(processors);
        if (!set) break;
        const size_t bytes = CPU_ALLOC_SIZE(processors);
        const bool read = ::sched_getaffinity(0, bytes, set) == 0;
        const int count = read ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (read) return std::max(count, 1);
    }
    return processors_online();
}

double processor_quota() {
    return limits().processors;
}

int64_t default_thread_count() {
    const int64_t allowed = processors_allowed();
    const double quota = processor_quota();
    return quota > 0 ? std::clamp<int64_t>(static_cast<int64_t>(std::ceil(quota)), 1, allowed) : allowed;
}

std::string utc_time(int64_t unix_milliseconds) {
    int64_t seconds = unix_milliseconds / 1000, milliseconds = unix_milliseconds % 1000;
    if (milliseconds < 0) {
        milliseconds += 1000;
        --seconds;
    }
    const time_t time = static_cast<time_t>(seconds);
    tm parts{};
    if (!::gmtime_r(&time, &parts)) return "unknown";
    char text[64];
    std::snprintf(text, sizeof(text), "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ", 1900LL + parts.tm_year, parts.tm_mon + 1,
                  parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(milliseconds));
    return text;
}

std::string utc_now() {
    using namespace std::chrono;
    return utc_time(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

}  // namespace tenon::base
