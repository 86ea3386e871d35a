// How a figure is taken: yardstick, work, yardstick, work, ... in one process, so that a busy neighbour touches both.
// Printed: the median of the work's share of the yardstick, the least and the greatest, the floor and whether it is
// kept.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tenon::bench {

struct Figure {
    std::string label;
    int threads = 1;
    double amount = 0;  // of one call: FLOP, or bytes moved
    double must = 0;    // the floor of the share in percent; 0: none is set
    std::function<void()> work;
};

// A rate measured at each call, per second, in the unit of the figure's amount.
using Yardstick = std::function<double()>;

class Bench {
public:
    // The share of each figure is the median of `turns` turns. Figures whose label does not contain `only` are left
    // out.
    Bench(int threads, int turns, std::string only);

    int threads() const { return threads_; }
    // A heading, printed before the first figure that follows.
    void section(const std::string& title) { title_ = title; }
    // Whether a figure of this label will be taken: asked before its operands are made.
    bool wants(const std::string& label) const;
    // Against the f32 peak of figure.threads threads.
    void share_of_peak(const Figure& figure);
    // Against a stream over memory of about the same size (streams.h).
    void share_of_stream(const Figure& figure, const Yardstick& stream);
    // How many floors there were, and which were not kept.
    void summary() const;

private:
    struct Taken;
    Taken take(const Figure& figure, const Yardstick& yardstick, bool is_peak) const;
    void measure(const Figure& figure, const Yardstick& yardstick, bool is_peak);

    int threads_, turns_;
    std::string only_, title_;
    int floors_ = 0, missed_ = 0;
    std::string below_;
};

double median(std::vector<double> values);
// Seconds of one call, over `calls` calls.
double seconds_of(const std::function<void()>& work, int calls);

}  // namespace tenon::bench
