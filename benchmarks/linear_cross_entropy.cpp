// The output projection with its loss and both gradients: three products.
#include "benchmarks/sections.h"
#include "tenon/ops/functions.h"

namespace tenon::bench {

namespace {

struct Size {
    int64_t rows, vocabulary, width;
};
constexpr Size sizes[] = {{512, 2048, 256}, {512, 50304, 768}};
constexpr double must = 83;

}  // namespace

void linear_cross_entropy(Bench& bench) {
    bench.section("linear_cross_entropy with gradients, of the f32 peak   N, V, C");
    for (const Size& s : sizes) {
        const std::string label = "linear_cross_entropy " + std::to_string(s.rows) + ", " +
                                  std::to_string(s.vocabulary) + ", " + std::to_string(s.width);
        if (!bench.wants(label)) continue;
        const Tensor x = ops::randn({s.rows, s.width}), weight = ops::randn({s.vocabulary, s.width});
        const Tensor target = ops::randint(0, s.vocabulary, {s.rows});
        const double flops = 6.0 * static_cast<double>(s.rows * s.vocabulary) * static_cast<double>(s.width);
        bench.share_of_peak(
            {label, bench.threads(), flops, must, [=] { ops::linear_cross_entropy_forward(x, weight, target); }});
    }
}

}  // namespace tenon::bench
