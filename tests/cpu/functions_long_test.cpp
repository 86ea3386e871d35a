// Every f32 there is: the elementary functions against f64 truth, and each instruction set against the next.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

struct Function {
    const char* name;
    Tensor (*op)(const Tensor&);
    double (*truth)(double);
    double bound;  // in units of the last place
};

const Function functions[] = {{"exp", ops::exp, std::exp, 1.0},    {"log", ops::log, std::log, 1.0},
                              {"sin", ops::sin, std::sin, 1.5},    {"cos", ops::cos, std::cos, 1.5},
                              {"tanh", ops::tanh, std::tanh, 1.6}, {"erf", ops::erf, std::erf, 1.3}};

constexpr int64_t chunk = 1 << 20, chunks = int64_t{1} << 12;

Tensor floats_of(int64_t index) {
    std::vector<float> values(chunk);
    for (int64_t i = 0; i < chunk; ++i)
        values[static_cast<size_t>(i)] = std::bit_cast<float>(static_cast<uint32_t>(index * chunk + i));
    return ops::from_values(values, {chunk});
}

double ulps(float got, double want) {
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : HUGE_VAL;
    if (static_cast<double>(got) == want) return std::signbit(got) == std::signbit(want) ? 0 : HUGE_VAL;
    const auto nearest = static_cast<float>(want);
    if (std::isinf(got) || std::isinf(nearest))
        return got == nearest || std::fabs(want) > 0x1.fffffdp127 ? 0 : HUGE_VAL;
    int e = 0;
    std::frexp(want, &e);
    return std::fabs(got - want) / std::ldexp(1.0, std::max(e, -125) - 24);
}

TEST(FunctionsLong, EveryFloatIsWithinTheBound) {
    cpu::register_kernels();
    for (const Function& function : functions) {
        std::mutex mutex;
        double worst = 0;
        float at = 0;
        cpu::parallel_for(chunks, [&](int64_t index) {
            const Tensor x = floats_of(index);
            const std::vector<float> from = ops::to_vector<float>(x), to = ops::to_vector<float>(function.op(x));
            double here = 0;
            float where = 0;
            for (size_t i = 0; i < from.size(); ++i) {
                const double error = ulps(to[i], function.truth(from[i]));
                if (error > here) {
                    here = error;
                    where = from[i];
                }
            }
            const std::lock_guard lock(mutex);
            if (here > worst) {
                worst = here;
                at = where;
            }
        });
        std::printf("%s: at most %.3f ulp, at %a\n", function.name, worst, static_cast<double>(at));
        EXPECT_LE(worst, function.bound) << function.name << " at " << at;
    }
}

// The plain path, whose fma is software, on every sixteenth chunk.
TEST(FunctionsLong, EveryFloatHasTheSameBitsOnEverySet) {
    cpu::register_kernels();
    for (const Function& function : functions) {
        for (int64_t index = 0; index < chunks; ++index) {
            const Tensor x = floats_of(index);
            std::vector<std::vector<float>> results;
            for (const auto set : sweep::sets()) {
                if (set == cpu::InstructionSet::plain && index % 16 != 0) continue;
                const cpu::ForcedInstructionSet forced(set);
                results.push_back(ops::to_vector<float>(function.op(x)));
            }
            for (size_t k = 1; k < results.size(); ++k) {
                for (size_t i = 0; i < results[k].size(); ++i) {
                    const float a = results[0][i], b = results[k][i];
                    const bool same =
                        std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
                    ASSERT_TRUE(same) << function.name << " of the float with bits "
                                      << index * chunk + static_cast<int64_t>(i);
                }
            }
        }
    }
}

}  // namespace
}  // namespace tenon
