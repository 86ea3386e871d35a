// The optimizer's pass over parameters, gradients and two moments, which nothing keeps in a cache.
#include "benchmarks/sections.h"
#include "benchmarks/streams.h"
#include "tenon/ops/functions.h"

namespace tenon::bench {

void adamw(Bench& bench) {
    bench.section("AdamW, of an in-place scale over as many bytes");
    const int64_t count = int64_t{1} << 23;  // parameters
    const std::string label = "adamw " + std::to_string(count) + " parameters";
    if (!bench.wants(label)) return;
    const Streams streams(1, 4 * count);
    const Tensor p = ops::randn({count}), g = ops::randn({count}), m = ops::zeros({count}), v = ops::zeros({count});
    int64_t step = 0;
    // Four arrays read, three written.
    bench.share_of_stream({label, bench.threads(), 28.0 * static_cast<double>(count), 95,
                           [&] { ops::adamw(p, g, m, v, 1e-4, 0.9, 0.95, 1e-8, 0.1, ++step); }},
                          [&] { return streams.scale(); });
}

}  // namespace tenon::bench
