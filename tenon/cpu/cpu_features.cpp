#include "tenon/cpu/cpu_features.h"

#include <cpuid.h>

#include <cstdint>
#include <cstring>

namespace tenon::cpu {

namespace {

struct Registers {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
    Registers r;
    __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
    return r;
}

bool bit(unsigned word, int n) {
    return (word >> n & 1u) != 0;
}

// Which register files the system saves on a task switch. An instruction, not the intrinsic: that one needs -mxsave.
uint64_t saved_state() {
    unsigned low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return static_cast<uint64_t>(high) << 32 | low;
}

std::string vendor() {
    Registers r = cpuid(0);
    char text[13] = {};
    std::memcpy(text, &r.ebx, 4);
    std::memcpy(text + 4, &r.edx, 4);
    std::memcpy(text + 8, &r.ecx, 4);
    return text;
}

std::string model() {
    if (cpuid(0x80000000u).eax < 0x80000004u) return "";
    char text[49] = {};
    for (unsigned i = 0; i < 3; ++i) {
        Registers r = cpuid(0x80000002u + i);
        std::memcpy(text + 16 * i, &r, 16);
    }
    std::string s = text;
    const size_t first = s.find_first_not_of(' '), last = s.find_last_not_of(' ');
    return first == std::string::npos ? "" : s.substr(first, last - first + 1);
}

CpuFeatures detect() {
    CpuFeatures f;
    f.vendor = vendor();
    f.model = model();
    const Registers one = cpuid(1), seven = cpuid(7);
    const bool xsave_on = bit(one.ecx, 27);
    if (!xsave_on) return f;
    const uint64_t saved = saved_state();
    const bool ymm = (saved & 0x6) == 0x6, zmm = (saved & 0xe6) == 0xe6;
    f.avx2_fma_f16c = ymm && bit(one.ecx, 28) && bit(one.ecx, 12) && bit(one.ecx, 29) && bit(seven.ebx, 5);
    f.avx512 =
        zmm && f.avx2_fma_f16c && bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 30) && bit(seven.ebx, 31);
    return f;
}

}  // namespace

const CpuFeatures& cpu_features() {
    static const CpuFeatures features = detect();
    return features;
}

}  // namespace tenon::cpu
