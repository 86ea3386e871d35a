// What Linux control groups let this process have (version 2 and 1).
#pragma once

#include <cstdint>
#include <string>

namespace tenon::base {

struct CgroupLimits {
    double processors = 0;    // 0: no limit
    int64_t memory = 0;       // bytes; 0: no limit
    int64_t memory_used = 0;  // bytes charged to the group with that limit, without what the kernel can drop at once
};

// `membership` is the text of /proc/self/cgroup, `mount` where the file systems are mounted (/sys/fs/cgroup). The
// tightest limit from the process's own group up to the root counts. Files that cannot be read set no limit.
CgroupLimits read_cgroup_limits(const std::string& membership, const std::string& mount);

}  // namespace tenon::base
