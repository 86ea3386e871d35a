#include "tenon/optim/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tenon/scalar/host.h"

namespace tenon::tests {

namespace {

using optim::Schedule;

constexpr int64_t steps = 4000;
const Schedule cosine{Schedule::Kind::cosine, 3e-4, 100, steps, 0.1, 0.2};

double share_of(double cosine_of_progress, int64_t step) {
    return (0.1 + 0.9 * 0.5 * (1 + cosine_of_progress)) * std::min(1.0, static_cast<double>(step + 1) / 100);
}
double angle(int64_t step) {
    return 3.14159265358979323846 * (static_cast<double>(step) / steps);
}

TEST(Schedule, ACosineIsItsFormulaInF64) {
    for (int64_t step = 0; step <= steps; ++step) {
        const double expected = 3e-4 * share_of(std::cos(angle(step)), step);
        EXPECT_NEAR(cosine.rate(step), expected, 1e-15 * 3e-4) << step;
    }
}

// libm's last bit depends on the processor and the version: the rates' bits are those of tenon/scalar's cosine.
TEST(Schedule, ACosineIsNotLibms) {
    for (int64_t step = 0; step <= steps; ++step) {
        EXPECT_EQ(cosine.rate(step), 3e-4 * share_of(scalar::host::cos(angle(step)), step)) << step;
    }
}

TEST(Schedule, WsdStaysAndThenFallsInALine) {
    const Schedule wsd{Schedule::Kind::wsd, 2, 0, 100, 0.5, 0.25};
    EXPECT_EQ(wsd.rate(0), 2);
    EXPECT_EQ(wsd.rate(75), 2);
    EXPECT_EQ(wsd.rate(87), 2 * (0.5 + 0.5 * (13.0 / 25)));
    EXPECT_EQ(wsd.rate(100), 1);
}

}  // namespace

}  // namespace tenon::tests
