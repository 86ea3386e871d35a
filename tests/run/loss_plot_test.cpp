#include "tenon/run/loss_plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "tenon/base/unicode.h"
#include "tests/base/thrown.h"

namespace tenon::tests {

namespace {

using run::LossPoint;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// The dots of a picture by column and row, read back from Unicode's numbering of them: bits 0, 1, 2, 6 are the left
// column from above, 3, 4, 5, 7 the right one.
std::vector<std::vector<bool>> dots_of(const std::string& text, int64_t columns, int64_t rows) {
    std::vector<std::vector<bool>> dots(static_cast<size_t>(2 * columns),
                                        std::vector<bool>(static_cast<size_t>(4 * rows)));
    const int left[] = {0, 1, 2, 6}, right[] = {3, 4, 5, 7};
    const std::vector<std::string> lines = lines_of(text);
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
        const std::string bar = "\u2502";
        size_t at = lines[row].find(bar) + bar.size();
        for (size_t column = 0; at < lines[row].size(); ++column) {
            if (lines[row][at] == ' ') {
                ++at;
                continue;
            }
            const auto byte = [&](size_t i) {
                return static_cast<unsigned>(static_cast<unsigned char>(lines[row][at + i]));
            };
            EXPECT_EQ(byte(0), 0xe2U);
            const unsigned cell = ((byte(1) & 0x3f) << 6 | (byte(2) & 0x3f)) - 0x800;
            EXPECT_LT(cell, 256U);
            for (size_t i = 0; i < 4; ++i) {
                dots[2 * column][4 * row + i] = (cell >> left[i] & 1) != 0;
                dots[2 * column + 1][4 * row + i] = (cell >> right[i] & 1) != 0;
            }
            at += 3;
        }
    }
    return dots;
}

TEST(LossPlot, AStraightLineIsDrawnAsOne) {
    std::vector<LossPoint> losses;
    for (int64_t step = 1; step <= 40; ++step) losses.push_back({step, 40.0 - static_cast<double>(step)});
    // 20 characters beside the labels are 40 dots: one a step, one down for each.
    const std::string text = run::terminal_plot(losses, 31, 10);
    const auto dots = dots_of(text, 20, 10);
    for (size_t x = 0; x < 40; ++x) {
        for (size_t y = 0; y < 40; ++y) EXPECT_EQ(dots[x][y], x == y) << x << " " << y;
    }
    const auto lines = lines_of(text);
    ASSERT_EQ(lines.size(), 11);
    EXPECT_EQ(lines.front().substr(0, 9), "  39.0000");
    EXPECT_EQ(lines[9].substr(0, 9), "   0.0000");
    EXPECT_EQ(lines.back(), "           step 1            40");
}

TEST(LossPlot, NoLineIsWiderThanTheTerminal) {
    std::vector<LossPoint> losses;
    for (int64_t step = 1; step <= 1000; ++step) losses.push_back({step, static_cast<double>(step * 7919 % 101)});
    for (const int64_t columns : {40, 80, 200}) {
        for (const std::string& line : lines_of(run::terminal_plot(losses, columns, 16))) {
            EXPECT_LE(base::count_characters(line), columns);
        }
    }
}

TEST(LossPlot, EveryColumnOfARoughCurveIsJoinedWithTheNext) {
    std::vector<LossPoint> losses;
    for (int64_t step = 1; step <= 9; ++step) losses.push_back({step, step % 2 == 0 ? 1.0 : 0.0});
    const auto dots = dots_of(run::terminal_plot(losses, 51, 8), 40, 8);
    for (size_t x = 0; x + 1 < dots.size(); ++x) {
        bool touches = false;
        for (size_t y = 0; y < 32; ++y) {
            for (size_t z = y == 0 ? 0 : y - 1; z <= std::min<size_t>(y + 1, 31); ++z)
                touches |= dots[x][y] && dots[x + 1][z];
        }
        EXPECT_TRUE(touches) << "column " << x;
    }
}

TEST(LossPlot, ALossThatIsNotFiniteIsAGap) {
    const std::vector<LossPoint> losses = {{1, 1}, {2, 1}, {3, nan}, {4, 0}, {5, 0}};
    const auto dots = dots_of(run::terminal_plot(losses, 21, 4), 10, 4);
    // 20 columns of dots: steps 2 and 4 stand at 4.75 and 14.25.
    for (size_t x = 6; x < 14; ++x) EXPECT_EQ(std::count(dots[x].begin(), dots[x].end(), true), 0) << x;
    EXPECT_TRUE(dots[5][0]);
    EXPECT_TRUE(dots[14][15]);
}

TEST(LossPlot, ASingleLossAndEqualLossesAreDrawn) {
    const std::vector<std::vector<LossPoint>> cases = {
        {{1, 2.5}}, {{1, 2.5}, {2, 2.5}}, {{7, -1e38}, {9, 3e38}}, {{1, 0}, {2, 1e-320}}};
    for (const auto& losses : cases) {
        EXPECT_EQ(lines_of(run::terminal_plot(losses, 80, 16)).size(), 17);
        EXPECT_NE(run::svg_plot("a", losses, {}).find("<path d=\"M"), std::string::npos);
    }
}

TEST(LossPlot, WithoutAFiniteLossThereIsNothingToDraw) {
    const std::vector<std::vector<LossPoint>> cases = {{}, {{1, nan}}, {{1, 1e300}}};
    for (const auto& losses : cases) {
        EXPECT_NE(thrown([&] { run::terminal_plot(losses, 80, 16); }).find("no finite loss"), std::string::npos);
        EXPECT_NE(thrown([&] { run::svg_plot("a", losses, {}); }).find("no finite loss"), std::string::npos);
    }
}

TEST(LossPlot, AnSvgShowsTheCurveTheValidationAndAnyTitle) {
    const std::vector<LossPoint> losses = {{1, 5}, {2, 4}, {3, nan}, {4, 3}};
    const std::string svg = run::svg_plot("runs/<a> & b", losses, {{4, 3.5}});
    EXPECT_NE(svg.find("runs/&lt;a&gt; &amp; b"), std::string::npos);
    EXPECT_NE(svg.find("validation 3.5000 at step 4"), std::string::npos);
    // 710 units for steps 1 to 4, and the curve begins anew behind the gap.
    EXPECT_NE(svg.find("<path d=\"M70.00 "), std::string::npos);
    EXPECT_NE(svg.find("M780.00 "), std::string::npos);
    EXPECT_EQ(svg.find("L780.00 "), std::string::npos);
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

}  // namespace

}  // namespace tenon::tests
