// A run's losses as a picture: in characters for a terminal, and as an SVG.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tenon::run {

struct LossPoint {
    int64_t step = 0;
    double loss = 0;
};

// Both draw the mean of the steps that fall on one dot; losses that are not finite are left out, and the step is not
// joined with its neighbours. Without one finite loss: Error(refused).

// Braille dots, 2 by 4 to a character; `columns` wide with its labels, `rows` high without the line of steps.
std::string terminal_plot(const std::vector<LossPoint>& losses, int64_t columns, int64_t rows);

// Complete in itself: no script, no font, no link. Validation losses are dots.
std::string svg_plot(const std::string& title, const std::vector<LossPoint>& losses,
                     const std::vector<LossPoint>& validation);

}  // namespace tenon::run
