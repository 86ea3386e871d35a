// Norms move memory: forward reads and writes each element once, like a copy; backward reads two and writes one, like a
// sum of two arrays.
#include "benchmarks/sections.h"
#include "benchmarks/streams.h"
#include "tenon/ops/functions.h"

namespace tenon::bench {

namespace {

constexpr double must = 80;

void norms_of(Bench& bench, int64_t rows, int64_t width) {
    const int64_t count = rows * width;
    const double pass = 4.0 * static_cast<double>(count);  // bytes of one array
    const Streams streams(3, count);
    const Tensor x = ops::randn({rows, width}), grad = ops::randn({rows, width});
    const Tensor weight = ops::randn({width}), bias = ops::randn({width});
    const std::string size = " " + std::to_string(rows) + " x " + std::to_string(width);
    const Yardstick copy = [&] { return streams.copy(); }, sum = [&] { return streams.sum(); };
    const int threads = bench.threads();

    Tensor mean, r;
    std::tie(std::ignore, r) = ops::rms_norm_forward(x, weight, 1e-5);
    bench.share_of_stream({"rms_norm" + size + " forward, of copy", threads, 2 * pass, must,
                           [&] { ops::rms_norm_forward(x, weight, 1e-5); }},
                          copy);
    bench.share_of_stream({"rms_norm" + size + " backward, of sum", threads, 3 * pass, must,
                           [&] { ops::rms_norm_backward(grad, x, weight, r); }},
                          sum);
    std::tie(std::ignore, mean, r) = ops::layer_norm_forward(x, weight, bias, 1e-5);
    bench.share_of_stream({"layer_norm" + size + " forward, of copy", threads, 2 * pass, must,
                           [&] { ops::layer_norm_forward(x, weight, bias, 1e-5); }},
                          copy);
    bench.share_of_stream({"layer_norm" + size + " backward, of sum", threads, 3 * pass, must,
                           [&] { ops::layer_norm_backward(grad, x, weight, mean, r); }},
                          sum);
}

}  // namespace

void norms(Bench& bench) {
    bench.section("norms, of a stream over as many elements   rows x width");
    norms_of(bench, 2048, 768);   // in the last-level cache
    norms_of(bench, 32768, 768);  // in memory
}

}  // namespace tenon::bench
