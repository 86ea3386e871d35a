// Matrix products through the ops that models call. NT: x W^T (linear), NN: its gradient to x, TN: its gradient to W.
#include "benchmarks/sections.h"
#include "tenon/ops/functions.h"

namespace tenon::bench {

namespace {

struct Product {
    const char* kind;
    int64_t m, n, k;
    double must_all, must_one;  // percent, on all threads and on one; 0: no floor
};

constexpr double large = 70;
constexpr Product products[] = {
    {"NT", 2048, 768, 768, large, large},
    {"NT", 2048, 3072, 768, large, large},
    {"NN", 2048, 768, 3072, large, large},
    {"TN", 3072, 768, 2048, large, large},
    {"TN", 768, 3072, 2048, large, large},
    {"NT", 1024, 50304, 768, large, large},
    {"NN", 1024, 768, 50304, large, large},
    {"TN", 50304, 768, 1024, large, large},
    {"NT", 512, 688, 256, 0, 0},
    {"NN", 512, 256, 688, 0, 0},
    {"TN", 688, 256, 512, 0, 0},
    {"NT", 256, 256, 256, 75, 75},
    {"NT", 8, 768, 768, 80, 80},
    {"NN", 64, 64, 64, 0, 70},
};

std::function<void()> work_of(const Product& p) {
    const bool a_turned = p.kind[0] == 'T', b_turned = p.kind[1] == 'T';
    const Tensor a = ops::randn(a_turned ? Dims{p.k, p.m} : Dims{p.m, p.k});
    const Tensor b = ops::randn(b_turned ? Dims{p.n, p.k} : Dims{p.k, p.n});
    if (b_turned) return [a, b] { ops::linear(a, b); };
    if (a_turned) return [a, b] { ops::matmul(ops::transpose(a), b); };
    return [a, b] { ops::matmul(a, b); };
}

}  // namespace

void gemm(Bench& bench) {
    bench.section("matrix products, of the f32 peak   M x N x K");
    for (const Product& p : products) {
        const std::string label = std::string("gemm ") + p.kind + " " + std::to_string(p.m) + " x " +
                                  std::to_string(p.n) + " x " + std::to_string(p.k);
        if (!bench.wants(label)) continue;
        Figure figure{label, bench.threads(), 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k),
                      p.must_all, work_of(p)};
        bench.share_of_peak(figure);
        if (bench.threads() == 1) continue;
        figure.threads = 1;
        figure.must = p.must_one;
        bench.share_of_peak(figure);
    }
}

}  // namespace tenon::bench
