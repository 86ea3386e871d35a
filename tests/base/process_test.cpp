#include "tenon/base/process.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "tenon/base/cgroup.h"
#include "tenon/base/files.h"
#include "tests/base/temporary_folder.h"

namespace tenon::base {

TEST(Process, KnowsItsMachine) {
    EXPECT_FALSE(host_name().empty());
    EXPECT_EQ(kernel_name().rfind("Linux ", 0), 0u);
    EXPECT_FALSE(processor_name().empty());
    EXPECT_GT(memory_total(), 0);
    EXPECT_GT(memory_available(), 0);
    EXPECT_LE(memory_available(), memory_total());
    EXPECT_GT(memory_resident(), 0);
    EXPECT_GE(processors_online(), processors_allowed());
    EXPECT_GE(default_thread_count(), 1);
    EXPECT_LE(default_thread_count(), processors_allowed());
}

TEST(Process, ThreadCountFollowsTheAffinityMask) {
    std::thread([] {
        cpu_set_t allowed, one;
        ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
        CPU_ZERO(&one);
        for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
            if (CPU_ISSET(i, &allowed)) CPU_SET(i, &one);
        }
        ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
        EXPECT_EQ(processors_allowed(), 1);
        EXPECT_EQ(default_thread_count(), 1);
    }).join();
}

TEST(Process, TimesAreIso8601InUtc) {
    EXPECT_EQ(utc_time(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(utc_time(1709251199999), "2024-02-29T23:59:59.999Z");
    EXPECT_EQ(utc_time(-1), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(utc_now().size(), 24u);
}

TEST(Process, KnowsItsBuild) {
    EXPECT_FALSE(build().version.empty());
    EXPECT_FALSE(build().compiler.empty());
    EXPECT_NE(build().flags.find("-ffp-contract=off"), std::string::npos);
    EXPECT_EQ(build().flags.find("prefix-map"), std::string::npos);
    EXPECT_GE(build().identity.size(), 32u);
    EXPECT_EQ(build().identity.find_first_not_of("0123456789abcdef"), std::string::npos);
}

// Trees as the kernel's documentation (cgroup-v2.rst, cgroup-v1) describes them.
TEST(Cgroup, TakesTheTightestLimitOnTheWayUp) {
    const tests::TemporaryFolder mount;
    make_directories(mount / "outer/inner");
    write_file_atomically(mount / "outer/cpu.max", "150000 100000\n");
    write_file_atomically(mount / "outer/inner/cpu.max", "max 100000\n");
    write_file_atomically(mount / "outer/memory.max", "2000000\n");
    write_file_atomically(mount / "outer/memory.current", "900000\n");
    write_file_atomically(mount / "outer/memory.stat", "anon 1\ninactive_file 100000\nactive_file 7\n");
    write_file_atomically(mount / "outer/inner/memory.max", "3000000\n");
    write_file_atomically(mount / "outer/inner/memory.current", "5\n");
    const CgroupLimits limits = read_cgroup_limits("0::/outer/inner\n", mount.path());
    EXPECT_EQ(limits.processors, 1.5);
    EXPECT_EQ(limits.memory, 2000000);
    EXPECT_EQ(limits.memory_used, 800000);
    make_directories(mount / "outer/tight");
    write_file_atomically(mount / "outer/tight/cpu.max", "50000 100000\n");
    EXPECT_EQ(read_cgroup_limits("0::/outer/tight\n", mount.path()).processors, 0.5);
}

TEST(Cgroup, ReadsVersionOne) {
    const tests::TemporaryFolder mount;
    make_directories(mount / "cpu/job");
    make_directories(mount / "memory");
    write_file_atomically(mount / "cpu/job/cpu.cfs_quota_us", "50000\n");
    write_file_atomically(mount / "cpu/job/cpu.cfs_period_us", "100000\n");
    write_file_atomically(mount / "cpu/cpu.cfs_quota_us", "-1\n");
    write_file_atomically(mount / "cpu/cpu.cfs_period_us", "100000\n");
    write_file_atomically(mount / "memory/memory.limit_in_bytes", "9223372036854771712\n");
    const CgroupLimits limits = read_cgroup_limits("5:cpu,cpuacct:/job\n3:memory:/job\n0::/\n", mount.path());
    EXPECT_EQ(limits.processors, 0.5);
    EXPECT_EQ(limits.memory, 0);
}

TEST(Cgroup, NothingReadableIsNoLimit) {
    for (const char* membership : {"", "0::/", "nonsense\n::\n0::relative\n"}) {
        const CgroupLimits limits = read_cgroup_limits(membership, "/nonexistent");
        EXPECT_EQ(limits.processors, 0);
        EXPECT_EQ(limits.memory, 0);
    }
}

}  // namespace tenon::base
