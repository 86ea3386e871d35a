// Facts about this process, its build and its machine, as run.json records them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tenon::base {

// Called first in main. Standard descriptors that came closed would be given to the first files that open, and messages
// would go into them: they get /dev/null (standard output one that cannot be written, so that losing it is an error). A
// file over the size limit is an error of the file layer, not the signal that ends the process.
void prepare_process();

// ---- Machine
// ---------------------------------------------------------------------------------------------------------

std::string host_name();
std::string kernel_name();     // "Linux 6.1.0-18-amd64"
std::string processor_name();  // "AMD EPYC 7B13"; "unknown" where the system does not say
int64_t memory_total();        // bytes; the least of the machine's and the cgroup's limit
int64_t memory_available();    // bytes that can still be taken without swapping, within the cgroup's limit
int64_t memory_resident();     // bytes of this process in memory now

int64_t processors_online();
int64_t processors_allowed();  // this process's affinity mask
double processor_quota();      // the cgroup's share in processors, e.g. 1.5; 0 where there is none
// min(affinity, quota rounded up), at least 1.
int64_t default_thread_count();

// ---- Build
// -----------------------------------------------------------------------------------------------------------

struct Build {
    std::string version;   // "0.1.0"
    std::string commit;    // "" outside a git checkout; ends in "+" where tracked files differed
    std::string sources;   // SHA-256 over the names and contents of the files that the program is made of
    std::string compiler;  // "GNU 12.2.0"
    std::string flags;     // as given to the compiler
    std::string type;      // "Release"
    std::string identity;  // the executable's GNU build id, in hex; else the SHA-256 of the executable
};
const Build& build();

// ---- Time
// ------------------------------------------------------------------------------------------------------------

std::string utc_now();  // "2025-01-31T23:59:59.123Z"
std::string utc_time(int64_t unix_milliseconds);

using Clock = std::chrono::steady_clock;  // what durations are measured by: it never goes back
inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace tenon::base
