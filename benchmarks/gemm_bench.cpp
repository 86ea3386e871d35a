// Matrix products as shares of the f32 peak.   gemm_bench [--threads N] [--repeat N] [--only TEXT]
// Each product runs between two measurements of the peak, in turns, so that a busy neighbour touches both. Printed:
// median share, and the least and the greatest, over the turns. TENON_CPU=avx2|avx512|plain chooses the set.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tenon/cpu/gemm.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/peak.h"
#include "tenon/cpu/thread_pool.h"

namespace {

using tenon::cpu::Gemm;

// NT: x . W^T (linear forward), NN: its gradient to x, TN: its gradient to W.
struct Shape {
    const char* kind;
    int64_t batch, m, n, k;
};
constexpr Shape kShapes[] = {
    {"NT", 1, 2048, 768, 768},  {"NT", 1, 2048, 3072, 768}, {"NN", 1, 2048, 768, 3072}, {"TN", 1, 3072, 768, 2048},
    {"TN", 1, 768, 3072, 2048}, {"NT", 1, 4096, 2048, 256}, {"NT", 1, 256, 768, 768},   {"NT", 1, 256, 50304, 768},
    {"NN", 1, 256, 768, 50304}, {"TN", 1, 50304, 768, 256}, {"NT", 1, 256, 256, 256},   {"NN", 1, 256, 64, 256},
    {"NN", 1, 64, 64, 64},      {"NN", 1, 16, 16, 16},      {"NT", 1, 8, 768, 768},     {"NT", 1, 1, 768, 768},
    {"NN", 1, 1, 768, 768},     {"NT", 96, 256, 256, 64},   {"NN", 96, 256, 64, 256},   {"NT", 768, 64, 64, 64},
    {"NT", 1, 4096, 688, 256},  {"NN", 1, 4096, 256, 688},  {"TN", 1, 688, 256, 4096},
};

struct Operands {
    std::vector<float> a, b, c;
};

Gemm product_of(const Shape& s, Operands& x) {
    x.a.assign(static_cast<size_t>(s.batch * s.m * s.k), 0.5f);
    x.b.assign(static_cast<size_t>(s.batch * s.n * s.k), 0.25f);
    x.c.assign(static_cast<size_t>(s.batch * s.m * s.n), 0.0f);
    const bool a_turned = s.kind[0] == 'T', b_turned = s.kind[1] == 'T';
    Gemm g;
    g.batch = s.batch, g.m = s.m, g.n = s.n, g.k = s.k;
    g.a = x.a.data(), g.b = x.b.data(), g.c = x.c.data();
    g.a_batch = s.m * s.k, g.a_row = a_turned ? 1 : s.k, g.a_column = a_turned ? s.m : 1;
    g.b_batch = s.n * s.k, g.b_row = b_turned ? 1 : s.n, g.b_column = b_turned ? s.k : 1;
    g.c_batch = s.m * s.n, g.c_row = s.n;
    return g;
}

double seconds_of(const Gemm& g, int calls) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) tenon::cpu::gemm(g);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void measure(const Shape& s, int threads, int repeat) {
    Operands operands;
    const Gemm g = product_of(s, operands);
    const double flops = 2.0 * static_cast<double>(s.batch * s.m) * static_cast<double>(s.n * s.k);
    const int calls = static_cast<int>(std::clamp(2e9 / flops, 1.0, 20000.0));
    seconds_of(g, 1);
    std::vector<double> shares, rates;
    double before = tenon::cpu::measure_peak_flops(threads, 0.02);
    for (int turn = 0; turn < repeat; ++turn) {
        const double rate = flops / seconds_of(g, calls);
        const double after = tenon::cpu::measure_peak_flops(threads, 0.02);
        shares.push_back(100 * rate / std::max(before, after));
        rates.push_back(rate);
        before = after;
    }
    std::printf("%s %3lld x %5lld,%5lld,%5lld   %6.1f %%  (%.1f to %.1f)   %7.1f GFLOP/s  %9.1f us\n", s.kind,
                static_cast<long long>(s.batch), static_cast<long long>(s.m), static_cast<long long>(s.n),
                static_cast<long long>(s.k), median(shares), *std::min_element(shares.begin(), shares.end()),
                *std::max_element(shares.begin(), shares.end()), median(rates) / 1e9, flops / median(rates) * 1e6);
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
    int threads = tenon::cpu::threads(), repeat = 5;
    std::string only;
    for (int i = 1; i + 1 < count; i += 2) {
        if (std::strcmp(arguments[i], "--threads") == 0) threads = std::atoi(arguments[i + 1]);
        if (std::strcmp(arguments[i], "--repeat") == 0) repeat = std::atoi(arguments[i + 1]);
        if (std::strcmp(arguments[i], "--only") == 0) only = arguments[i + 1];
    }
    tenon::cpu::set_threads(threads);
    const double one = tenon::cpu::measure_peak_flops(1, 0.2), all = tenon::cpu::measure_peak_flops(threads, 0.2);
    std::printf("%s, %d threads: peak %.1f GFLOP/s, on one thread %.1f%s\n",
                std::string(tenon::cpu::name(tenon::cpu::instruction_set())).c_str(), threads, all / 1e9, one / 1e9,
                all < 0.9 * threads * one ? "  (busy)" : "");
    for (const Shape& s : kShapes) {
        const std::string label =
            std::string(s.kind) + " " + std::to_string(s.m) + "," + std::to_string(s.n) + "," + std::to_string(s.k);
        if (label.find(only) != std::string::npos) measure(s, threads, repeat);
    }
    return 0;
}
