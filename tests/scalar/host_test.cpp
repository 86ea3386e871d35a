#include "tenon/scalar/host.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tenon/scalar/range_reduction.h"
#include "tenon/scalar/single.h"

namespace tenon::scalar {
namespace {

// xorshift64 (Marsaglia 2003): the same points on every machine.
class Points {
public:
    uint64_t bits() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        return state_ ^= state_ << 17;
    }
    double any() { return std::bit_cast<double>(bits()); }
    double within(double size) { return static_cast<double>(static_cast<int64_t>(bits())) * 0x1p-63 * size; }
    float any_float() { return std::bit_cast<float>(static_cast<uint32_t>(bits() >> 32)); }

private:
    uint64_t state_ = 88172645463325252u;
};

double ulps(double got, long double want) {
    if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : HUGE_VAL;
    if (static_cast<double>(want) == got) return 0;
    if (std::isinf(got)) return std::fabs(want) > 0x1.fffffffffffff8p1023L ? 0 : HUGE_VAL;
    int e = 0;
    std::frexp(want, &e);
    return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, std::max(e, -1021) - 53));
}

TEST(HostFunctions, AreWithinTwoUnitsOfTheLastPlace) {
    struct {
        const char* name;
        double (*function)(double);
        long double (*truth)(long double);
    } const cases[] = {
        {"exp", host::exp, expl}, {"log", host::log, logl}, {"sin", host::sin, sinl}, {"cos", host::cos, cosl}};
    for (const auto& c : cases) {
        Points points;
        double worst = 0, at = 0;
        for (int i = 0; i < 300000; ++i) {
            const double x = i % 3 == 0 ? points.any() : points.within(i % 3 == 1 ? 4 : 1000);
            const double error = ulps(c.function(x), c.truth(x));
            if (error > worst) {
                worst = error;
                at = x;
            }
        }
        EXPECT_LT(worst, 2) << c.name << " at " << at;
    }
}

TEST(HostFunctions, SpecialValuesAreCs) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(host::exp(inf), inf);
    EXPECT_EQ(host::exp(-inf), 0);
    EXPECT_TRUE(std::isnan(host::exp(nan)));
    EXPECT_EQ(host::log(0.0), -inf);
    EXPECT_TRUE(std::isnan(host::log(-1.0)));
    EXPECT_EQ(host::log(inf), inf);
    EXPECT_TRUE(std::isnan(host::sin(inf)));
    EXPECT_TRUE(std::signbit(host::sin(-0.0)));
    EXPECT_EQ(host::pow(0.0, 2.0), 0);
    EXPECT_EQ(host::pow(7.0, 0.0), 1);
    EXPECT_EQ(host::power(3, 4), 81);
    EXPECT_EQ(host::power(2, -3), 0.125);
}

TEST(HostFunctions, PowKeepsItsStatedError) {
    Points points;
    for (int i = 0; i < 100000; ++i) {
        const double x = std::fabs(points.within(100)), y = points.within(20);
        const double want = std::pow(x, y), bound = (std::fabs(y * std::log(x)) + 2) * 0x1p-52;
        ASSERT_LE(std::fabs(host::pow(x, y) - want), bound * want) << x << " ^ " << y;
    }
}

// Frequencies as Transformers computes them: the f32 result of an f32 power, and angles to a million positions.
TEST(HostFunctions, RotaryAnglesAreRightToTheLastBitOfF32OrItsNeighbour) {
    for (int64_t position = 1; position < 1000000; position += 997) {
        for (const double frequency : {1.0, 0.316227766, 0.01, 1e-4}) {
            const auto angle = static_cast<float>(static_cast<double>(position) * frequency);
            EXPECT_NEAR(host::sin(angle), std::sin(static_cast<double>(angle)), 1.2e-7) << angle;
            EXPECT_NEAR(host::cos(angle), std::cos(static_cast<double>(angle)), 1.2e-7) << angle;
        }
    }
}

TEST(RangeReduction, HoldsForEverySizeOfF32) {
    Points points;
    for (int i = 0; i < 300000; ++i) {
        const float x = points.any_float();
        if (!(std::fabs(x) >= 1) || std::isinf(x)) continue;
        // glibc's sin and cos of f64 are within an ulp: they give the remainder's sine to 2^-52.
        const double r = quarter_turn_remainder(x);
        const int turns = static_cast<int>(quarter_turns(x));
        const double sine = (turns & 1) != 0 ? std::cos(r) : std::sin(r);
        ASSERT_NEAR(turns >= 2 ? -sine : sine, std::sin(static_cast<double>(x)), 0x1p-24 * std::fabs(r) + 0x1p-52) << x;
        ASSERT_LE(std::fabs(r), 0.7853982f);
    }
    EXPECT_TRUE(std::isnan(quarter_turns(std::numeric_limits<float>::infinity())));
}

TEST(Single, FmaRoundsOnce) {
    Points points;
    for (int i = 0; i < 1000000; ++i) {
        const float a = points.any_float(), b = points.any_float();
        float c = points.any_float();
        // Half of the time near -a * b, where a second rounding would show.
        if (i % 2 == 0) c = static_cast<float>(-static_cast<double>(a) * b * (1 + points.within(1e-6)));
        const float want = std::fma(a, b, c), got = exact_fma(a, b, c);
        if (std::isnan(want)) {
            ASSERT_TRUE(std::isnan(got));
        } else {
            ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << a << " * " << b << " + " << c;
        }
    }
}

TEST(Single, RoundAndFloorAreTheCLibrarys) {
    Points points;
    for (int i = 0; i < 300000; ++i) {
        const float x = i % 2 == 0 ? points.any_float() : static_cast<float>(points.within(100));
        if (std::isnan(x)) continue;
        ASSERT_EQ(round_to_even(x), std::nearbyint(x)) << x;
        ASSERT_EQ(floor_of(x), std::floor(x)) << x;
    }
    EXPECT_EQ(round_to_even(2.5f), 2);
    EXPECT_EQ(round_to_even(-0.3f), 0);
}

}  // namespace
}  // namespace tenon::scalar
