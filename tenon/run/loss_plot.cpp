#include "tenon/run/loss_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/base/number.h"

namespace tenon::run {

namespace {

// A loss is a float; beyond one lies only what somebody else wrote, and differences would overflow.
bool is_drawn(double loss) {
    return std::abs(loss) <= static_cast<double>(std::numeric_limits<float>::max());
}

// What both axes span.
struct Span {
    int64_t first_step = 0, last_step = 0;
    double least = 0, most = 0;
};

Span span_of(const std::vector<LossPoint>& losses, const std::vector<LossPoint>& more = {}) {
    std::optional<Span> span;
    for (const auto* list : {&losses, &more}) {
        for (const auto& [step, loss] : *list) {
            if (!is_drawn(loss)) continue;
            if (!span) span = Span{step, step, loss, loss};
            span->first_step = std::min(span->first_step, step);
            span->last_step = std::max(span->last_step, step);
            span->least = std::min(span->least, loss);
            span->most = std::max(span->most, loss);
        }
    }
    if (!span) throw Error(Code::refused, "plot", "the run has no finite loss yet");
    return *span;
}

// Share of the way from `from` to `to`; the middle where they are one.
double share(double value, double from, double to) {
    return to > from ? (value - from) / (to - from) : 0.5;
}

struct Bin {
    double sum = 0;
    int64_t count = 0;
    bool broken = false;  // holds a loss that is not finite
    double mean() const { return sum / static_cast<double>(count); }
};

// The losses by their place along the axis of steps.
std::vector<Bin> bins_of(const std::vector<LossPoint>& losses, const Span& span, int64_t count) {
    std::vector<Bin> bins(static_cast<size_t>(count));
    for (const auto& [step, loss] : losses) {
        const double place =
            share(static_cast<double>(step), static_cast<double>(span.first_step), static_cast<double>(span.last_step));
        if (!(place >= 0 && place <= 1)) continue;
        Bin& bin = bins[static_cast<size_t>(std::llround(place * static_cast<double>(count - 1)))];
        if (!is_drawn(loss)) {
            bin.broken = true;
            continue;
        }
        bin.sum += loss;
        ++bin.count;
    }
    return bins;
}

// Dots, 2 by 4 to a character of Unicode's block U+2800.
class Canvas {
public:
    Canvas(int64_t columns, int64_t rows) : columns_(columns), cells_(static_cast<size_t>(columns * rows)) {}

    void set(int64_t x, int64_t y) {
        constexpr uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
        cells_[static_cast<size_t>(y / 4 * columns_ + x / 2)] |= bits[y % 4][x % 2];
    }

    // From (x - 1, before) to (x, now), half of the way in either column.
    void join(int64_t x, int64_t before, int64_t now) {
        const int64_t middle = before + (now - before) / 2, way = now > before ? 1 : -1;
        for (int64_t y = before; y != middle + way; y += way) set(x - 1, y);
        for (int64_t y = now; y != middle; y -= way) set(x, y);
        set(x, now);
    }

    // In UTF-8, without the spaces at its end.
    std::string row(int64_t number) const {
        std::string text;
        for (int64_t column = 0; column < columns_; ++column) {
            const uint8_t cell = cells_[static_cast<size_t>(number * columns_ + column)];
            if (cell == 0) {
                text += ' ';
            } else {
                text += {'\xe2', static_cast<char>(0xa0 | cell >> 6), static_cast<char>(0x80 | (cell & 0x3f))};
            }
        }
        text.erase(text.find_last_not_of(' ') + 1);
        return text;
    }

private:
    int64_t columns_;
    std::vector<uint8_t> cells_;
};

constexpr int64_t label_width = 9;

std::string to_the_right(const std::string& text, int64_t width) {
    const int64_t missing = std::max<int64_t>(width - static_cast<int64_t>(text.size()), 0);
    return std::string(static_cast<size_t>(missing), ' ') + text;
}

void draw(Canvas& canvas, const std::vector<Bin>& bins, const Span& span, int64_t height) {
    int64_t before = -1, before_x = -1;
    for (int64_t x = 0; x < static_cast<int64_t>(bins.size()); ++x) {
        const Bin& bin = bins[static_cast<size_t>(x)];
        if (bin.broken) before = -1;
        if (bin.count == 0) continue;
        const int64_t y =
            std::llround((1 - share(bin.mean(), span.least, span.most)) * static_cast<double>(height - 1));
        canvas.set(x, y);
        if (before >= 0) {
            // A run of few steps leaves columns empty: straight on to the next one.
            int64_t last = before;
            for (int64_t between = before_x + 1; between <= x; ++between) {
                const double part =
                    share(static_cast<double>(between), static_cast<double>(before_x), static_cast<double>(x));
                const int64_t now = before + std::llround(part * static_cast<double>(y - before));
                canvas.join(between, last, now);
                last = now;
            }
        }
        before = y;
        before_x = x;
    }
}

// ---- SVG
// -------------------------------------------------------------------------------------------------------------

constexpr double width = 800, height = 420, left = 70, right = 20, top = 40, bottom = 50;

std::string escaped(const std::string& text) {
    std::string result;
    for (const char each : text) {
        switch (each) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            default:
                // XML has no way to write the other control characters.
                result += static_cast<uint8_t>(each) < 0x20 ? ' ' : each;
        }
    }
    return result;
}

std::string number(double value) {
    return base::fixed(value, 2);
}

// Multiples of 1, 2 or 5 times a power of ten, about five between the ends.
std::vector<double> ticks(double from, double to, bool whole) {
    if (!(to - from > 1e-30)) return {from};  // below, a power of ten would come to 0
    double step = 1;
    while ((to - from) / step <= 5) step /= 10;
    while ((to - from) / step > 50) step *= 10;
    for (const double factor : {2.0, 2.5, 2.0}) {
        if ((to - from) / step > 6) step *= factor;
    }
    if (whole) step = std::max(step, 1.0);
    std::vector<double> values;
    for (double k = std::ceil(from / step); k * step <= to && values.size() < 20; ++k) values.push_back(k * step);
    return values;
}

class Svg {
public:
    explicit Svg(const Span& span) : span_(span) {
        // Room above and below the curve.
        const double room = span.most > span.least ? (span.most - span.least) * 0.04 : 0.5;
        least_ = span.least - room;
        most_ = span.most + room;
        text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(height) +
                "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
                "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
                "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    }

    void title(const std::string& title) {
        label(left, 24, "start", title + ": loss, nats per token", " font-size=\"15\"");
    }

    void axes() {
        for (const double loss : ticks(least_, most_, false)) {
            line(left, y(loss), width - right, y(loss), "#ddd");
            label(left - 8, y(loss) + 4, "end", base::significant(loss, 6));
        }
        const auto first = static_cast<double>(span_.first_step), last = static_cast<double>(span_.last_step);
        for (const double step : ticks(first, last, true)) {
            line(x(step), height - bottom, x(step), height - bottom + 5, "#333");
            label(x(step), height - bottom + 19, "middle", std::to_string(std::llround(step)));
        }
        line(left, height - bottom, width - right, height - bottom, "#333");
        line(left, top, left, height - bottom, "#333");
        label((left + width - right) / 2, height - 12, "middle", "step");
    }

    void curve(const std::vector<Bin>& bins) {
        std::string path;
        bool joined = false;
        for (size_t i = 0; i < bins.size(); ++i) {
            if (bins[i].broken) joined = false;
            if (bins[i].count == 0) continue;
            const double place = left + static_cast<double>(i) / static_cast<double>(bins.size() - 1) * inner_width;
            const double at = span_.first_step == span_.last_step ? left + inner_width / 2 : place;
            path += std::string(joined ? "L" : "M") + number(at) + " " + number(y(bins[i].mean()));
            joined = true;
        }
        // A round cap shows a curve of one point, too.
        text_ += "<path d=\"" + path +
                 "\" fill=\"none\" stroke=\"#1f6fb4\" stroke-width=\"1.5\" stroke-linecap=\"round\" "
                 "stroke-linejoin=\"round\"/>\n";
    }

    void dots(const std::vector<LossPoint>& points) {
        for (const auto& [step, loss] : points) {
            if (!is_drawn(loss)) continue;
            text_ += "<circle cx=\"" + number(x(static_cast<double>(step))) + "\" cy=\"" + number(y(loss)) +
                     "\" r=\"4\" fill=\"#c2410c\"><title>validation " + base::fixed(loss, 4) + " at step " +
                     std::to_string(step) + "</title></circle>\n";
        }
        if (!points.empty()) label(width - right, 24, "end", "dots: validation", " fill=\"#c2410c\"");
    }

    std::string finish() && { return std::move(text_) + "</svg>\n"; }

private:
    static constexpr double inner_width = width - left - right, inner_height = height - top - bottom;

    double x(double step) const {
        return left +
               share(step, static_cast<double>(span_.first_step), static_cast<double>(span_.last_step)) * inner_width;
    }
    double y(double loss) const { return height - bottom - share(loss, least_, most_) * inner_height; }

    void line(double x1, double y1, double x2, double y2, const char* colour) {
        text_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" +
                 number(y2) + "\" stroke=\"" + colour + "\"/>\n";
    }
    void label(double at_x, double at_y, const char* anchor, const std::string& text, const std::string& more = {}) {
        text_ += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\" text-anchor=\"" + anchor + "\"" + more +
                 ">" + escaped(text) + "</text>\n";
    }

    Span span_;
    double least_ = 0, most_ = 0;
    std::string text_;
};

}  // namespace

std::string terminal_plot(const std::vector<LossPoint>& losses, int64_t columns, int64_t rows) {
    const Span span = span_of(losses);
    const int64_t inner = std::max<int64_t>(columns - label_width - 2, 10);
    Canvas canvas(inner, rows);
    draw(canvas, bins_of(losses, span, 2 * inner), span, 4 * rows);
    std::string text;
    for (int64_t row = 0; row < rows; ++row) {
        std::string label;
        if (row == 0) label = base::fixed(span.most, 4);
        if (row == rows - 1) label = base::fixed(span.least, 4);
        text += to_the_right(label, label_width) + " \u2502" + canvas.row(row) + "\n";
    }
    const std::string first = "step " + std::to_string(span.first_step), last = std::to_string(span.last_step);
    const int64_t between = inner - static_cast<int64_t>(first.size());
    return text + std::string(label_width + 2, ' ') + first + to_the_right(last, between) + "\n";
}

std::string svg_plot(const std::string& title, const std::vector<LossPoint>& losses,
                     const std::vector<LossPoint>& validation) {
    const Span span = span_of(losses, validation);
    constexpr int64_t places = 1421;  // half a unit each
    Svg svg(span);
    svg.title(title);
    svg.axes();
    svg.curve(bins_of(losses, span, places));
    svg.dots(validation);
    return std::move(svg).finish();
}

}  // namespace tenon::run
