// The elementary functions as every op uses them: how far from the truth, and the same bits on every set.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/scalar/host.h"

namespace tenon {
namespace {

struct Function {
    const char* name;
    Tensor (*op)(const Tensor&);
    float (*host)(float);
    double (*truth)(double);
    double bound;  // in units of the last place
};

const Function functions[] = {
    {"exp", ops::exp, scalar::host::exp, std::exp, 1.0},     {"log", ops::log, scalar::host::log, std::log, 1.0},
    {"sin", ops::sin, scalar::host::sin, std::sin, 1.5},     {"cos", ops::cos, scalar::host::cos, std::cos, 1.5},
    {"tanh", ops::tanh, scalar::host::tanh, std::tanh, 1.6}, {"erf", ops::erf, scalar::host::erf, std::erf, 1.3}};

// Every `step`-th float by its bits, from 0 to the last NaN, and the places where something changes.
std::vector<float> sampled_floats(uint64_t step) {
    std::vector<float> values = {0.0f,
                                 -0.0f,
                                 1.0f,
                                 -1.0f,
                                 0.55f,
                                 -0.55f,
                                 0.93f,
                                 -0.93f,
                                 4.0f,
                                 -4.0f,
                                 65536.0f,
                                 -65536.0f,
                                 std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN(),
                                 std::numeric_limits<float>::max(),
                                 std::numeric_limits<float>::min(),
                                 std::numeric_limits<float>::denorm_min(),
                                 88.72283f,
                                 88.72284f,
                                 -87.33655f,
                                 -103.97208f,
                                 -103.97209f,
                                 4.0f / 3,
                                 2.0f / 3};
    for (uint64_t bits = step / 2; bits <= 0xffffffffu; bits += step)
        values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    return values;
}

double ulps(float got, double want) {
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : HUGE_VAL;
    if (static_cast<double>(got) == want) return std::signbit(got) == std::signbit(want) ? 0 : HUGE_VAL;
    const auto nearest = static_cast<float>(want);
    if (std::isinf(got) || std::isinf(nearest)) {
        // Just below the border to infinity either side of it is within an ulp.
        return got == nearest || std::fabs(want) > 0x1.fffffdp127 ? 0 : HUGE_VAL;
    }
    int e = 0;
    std::frexp(want, &e);
    return std::fabs(got - want) / std::ldexp(1.0, std::max(e, -125) - 24);
}

std::vector<float> computed(const Function& function, const std::vector<float>& x) {
    return ops::to_vector<float>(function.op(ops::from_values(x, {static_cast<int64_t>(x.size())})));
}

TEST(Functions, StayWithinTheirErrorOverASampleOfAllFloats) {
    cpu::register_kernels();
    const std::vector<float> x = sampled_floats(4099);
    for (const Function& function : functions) {
        const std::vector<float> y = computed(function, x);
        double worst = 0;
        float at = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const double error = ulps(y[i], function.truth(x[i]));
            if (error > worst) {
                worst = error;
                at = x[i];
            }
        }
        EXPECT_LE(worst, function.bound) << function.name << " at " << at;
    }
}

TEST(Functions, PowIsWithinEightUnitsAndKnowsCsSpecialValues) {
    cpu::register_kernels();
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> bases = {0.0f, -0.0f, 1, -1, 2, -2, 0.5f, -0.5f, inf, -inf, nan, 1e-40f, -1e-40f, 3e38f};
    for (int i = 0; i < 20000; ++i) bases.push_back(std::exp2(static_cast<float>(i - 10000) / 80.0f));
    // f32 exponents: the kernel rounds what it is given.
    for (const float exponent :
         {0.0f, 1.0f, -1.0f, 2.0f, 3.0f, -3.0f, 0.5f, 2.5f, -0.3f, 17.0f, 101.0f, 1e10f, -1e10f, inf, -inf}) {
        const std::vector<float> y =
            ops::to_vector<float>(ops::power(ops::from_values(bases, {static_cast<int64_t>(bases.size())}), exponent));
        for (size_t i = 0; i < bases.size(); ++i) {
            const double want = std::pow(static_cast<double>(bases[i]), static_cast<double>(exponent));
            // Underflow and overflow are f32's.
            const bool lost = static_cast<float>(want) == 0 || std::isinf(static_cast<float>(want));
            if (lost) {
                ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(static_cast<float>(want)))
                    << bases[i] << " ^ " << exponent;
            } else {
                ASSERT_LE(ulps(y[i], want), 8) << bases[i] << " ^ " << exponent << " = " << y[i];
            }
        }
    }
}

class FunctionBits : public testing::TestWithParam<cpu::InstructionSet> {
protected:
    void SetUp() override {
        if (!cpu::supported(GetParam())) GTEST_SKIP() << "this processor lacks " << cpu::name(GetParam());
        cpu::register_kernels();
    }
};

// host.h computes in plain C++ with an exact fma in software.
TEST_P(FunctionBits, AreThoseOfTheHostFunctions) {
    const cpu::ForcedInstructionSet forced(GetParam());
    const std::vector<float> x = sampled_floats(40009);
    for (const Function& function : functions) {
        const std::vector<float> y = computed(function, x);
        for (size_t i = 0; i < x.size(); ++i) {
            const float want = function.host(x[i]);
            if (std::isnan(want)) {
                ASSERT_TRUE(std::isnan(y[i])) << function.name << " of " << x[i];
            } else {
                ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(want))
                    << function.name << " of " << x[i];
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Sets, FunctionBits,
                         testing::Values(cpu::InstructionSet::avx2, cpu::InstructionSet::avx512,
                                         cpu::InstructionSet::plain),
                         [](const auto& each) { return std::string(cpu::name(each.param)); });

}  // namespace
}  // namespace tenon
