#include "tenon/run/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "tenon/base/process.h"
#include "tenon/base/unicode.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/dispatch.h"

namespace tenon::run {

using base::Json;

namespace {

// What this program reads, and what the system's libraries read that could change a number, a locale or a kernel.
bool is_recorded(std::string_view name) {
    constexpr std::array<std::string_view, 7> prefixes = {"TENON_", "LC_",       "MALLOC_", "OMP_",
                                                          "MKL_",   "OPENBLAS_", "LD_"};
    constexpr std::array<std::string_view, 5> names = {"LANG", "LANGUAGE", "TZ", "GLIBC_TUNABLES",
                                                       "CUDA_VISIBLE_DEVICES"};
    return std::find(names.begin(), names.end(), name) != names.end() ||
           std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view each) { return name.starts_with(each); });
}

// JSON holds UTF-8; other bytes are written as \\xNN.
std::string readable(std::string_view value) {
    if (base::is_utf8(value)) return std::string(value);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char each : value) {
        const auto byte = static_cast<uint8_t>(each);
        if (byte < 0x80) {
            text += each;
        } else {
            text += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return text;
}

}  // namespace

Json build_json() {
    const base::Build& build = base::build();
    return Json::object({{"version", build.version},
                         {"commit", build.commit},
                         {"sources", build.sources},
                         {"compiler", build.compiler},
                         {"flags", build.flags},
                         {"type", build.type},
                         {"identity", build.identity}});
}

namespace {

// "glibc 2.36"
std::string libc_name() {
    std::array<char, 64> name{};
    return ::confstr(_CS_GNU_LIBC_VERSION, name.data(), name.size()) > 0 ? name.data() : "unknown";
}

}  // namespace

Json machine_json() {
    return Json::object({{"name", base::host_name()},
                         {"kernel", base::kernel_name()},
                         {"libc", libc_name()},
                         {"processor", base::processor_name()},
                         {"instruction_set", cpu::name(cpu::instruction_set())},
                         {"processors", base::processors_allowed()},
                         {"threads", cpu::threads()},
                         {"memory_bytes", base::memory_total()}});
}

Json environment_json() {
    std::vector<std::string_view> entries;
    for (char** entry = ::environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
    std::sort(entries.begin(), entries.end());
    Json variables = Json::object();
    for (const std::string_view entry : entries) {
        const size_t end = entry.find('=');
        if (end == std::string_view::npos || !is_recorded(entry.substr(0, end))) continue;
        variables.set(readable(entry.substr(0, end)), readable(entry.substr(end + 1)));
    }
    return variables;
}

Json providers_json() {
    Json list = Json::array();
    for (const ops::ProviderUse& use : ops::provider_uses()) {
        list.push(Json::object({{"op", use.op},
                                {"device", use.device},
                                {"provider", use.provider},
                                {"tier", ops::name_of(use.tier)},
                                {"calls", static_cast<int64_t>(use.calls)}}));
    }
    return list;
}

}  // namespace tenon::run
