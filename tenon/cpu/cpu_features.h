// What the processor and the operating system offer. Read with cpuid and xgetbv, once.
#pragma once

#include <string>

namespace tenon::cpu {

struct CpuFeatures {
    std::string vendor, model;   // "AuthenticAMD", "AMD EPYC 9R14"
    bool avx2_fma_f16c = false;  // AVX2, FMA and F16C, and the system saves ymm registers
    bool avx512 = false;         // AVX-512 F, BW, DQ and VL besides, and the system saves zmm registers
};

const CpuFeatures& cpu_features();

}  // namespace tenon::cpu
