// What every kernel must not depend on: instruction sets of this machine and thread counts.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/provider.h"

namespace tenon::sweep {

// Those that the processor has. What it lacks, the skipped Sweep.Covers tells.
inline std::vector<cpu::InstructionSet> sets() {
    std::vector<cpu::InstructionSet> all;
    for (const auto set : {cpu::InstructionSet::plain, cpu::InstructionSet::avx2, cpu::InstructionSet::avx512}) {
        if (cpu::supported(set)) all.push_back(set);
    }
    return all;
}

// check(what) under each set that the processor has, on 1, 2 and 3 threads.
template <class Check>
void over_sets_and_threads(Check check) {
    const int before = cpu::threads();
    for (const cpu::InstructionSet set : sets()) {
        const cpu::ForcedInstructionSet forced(set);
        for (const int threads : {1, 2, 3}) {
            cpu::set_threads(threads);
            check(std::string(cpu::name(set)) + ", threads " + std::to_string(threads));
        }
    }
    cpu::set_threads(before);
}

// The elements' bits, in logical order; every NaN is one NaN. Where "bit for bit" is claimed, compare these: == takes
// -0 for +0.
inline std::vector<uint64_t> bits(const std::vector<float>& values) {
    std::vector<uint64_t> all;
    for (const float v : values) all.push_back(std::bit_cast<uint32_t>(v != v ? std::nanf("") : v));
    return all;
}
inline std::vector<uint64_t> bits(const Tensor& tensor) {
    std::vector<uint64_t> all;
    const auto nan = std::bit_cast<uint32_t>(std::nanf(""));
    switch (tensor.dtype()) {
        case DType::f32:
            return bits(ops::to_vector<float>(tensor));
        case DType::bf16:
        case DType::f16:
            // Exact: equal numbers have equal bits, but for NaN.
            return bits(ops::cast(tensor, DType::f32));
        case DType::f64:
            for (const double v : ops::to_vector<double>(tensor))
                all.push_back(v != v ? nan : std::bit_cast<uint64_t>(v));
            break;
        default:
            for (const int64_t v : ops::to_vector<int64_t>(ops::cast(tensor, DType::i64))) {
                all.push_back(static_cast<uint64_t>(v));
            }
    }
    return all;
}

// Values of mixed size and sign: a sum of them shows its order. Not random: a fixed sequence.
inline std::vector<float> wide_values(int64_t count, uint32_t seed = 1) {
    std::vector<float> values;
    uint32_t state = seed * 2654435761u + 12345u;
    for (int64_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        const float unit = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
        values.push_back(unit * std::ldexp(1.0f, static_cast<int>(state >> 9 & 7u) - 3));
    }
    return values;
}
inline Tensor wide(const Shape& shape, DType dtype = DType::f32, uint32_t seed = 1) {
    const Tensor values = ops::from_values(wide_values(numel(shape), seed), shape);
    return dtype == DType::f32 ? values : ops::cast(values, dtype);
}

// The same elements in other memory: transposed, spread, behind an offset.
inline std::vector<Tensor> layouts(const Tensor& x) {
    std::vector<Tensor> all{x};
    if (x.rank() < 1) return all;
    if (x.rank() >= 2) all.push_back(ops::transpose(ops::contiguous(ops::transpose(x, 0, -1)), 0, -1));
    // Every second element of the last dim of something wider.
    const Tensor pair[] = {x, ops::neg(x)};
    all.push_back(ops::select(ops::contiguous(ops::stack(pair, -1)), -1, 0));
    const Tensor beside[] = {ops::neg(x), x};
    const Tensor joined = ops::cat(beside, -1);
    all.push_back(ops::narrow(joined, -1, x.size(-1), x.size(-1)));
    return all;
}

// The kernel's result equals the reference provider's, bit for bit, in every set, thread count and layout of x.
template <class Compute>
void expect_reference_bits(const char* op, const Tensor& x, Compute compute, const std::string& what) {
    std::vector<uint64_t> expected;
    {
        const ops::ForceProvider reference(op, "reference");
        expected = bits(compute(x));
    }
    const std::vector<Tensor> views = layouts(x);
    over_sets_and_threads([&](const std::string& where) {
        for (size_t i = 0; i < views.size(); ++i) {
            EXPECT_EQ(bits(compute(views[i])), expected) << op << " " << what << ", layout " << i << ", " << where;
        }
    });
}

}  // namespace tenon::sweep
