// Causal attention; the arithmetic counted is that of the pairs that are seen.
#include "benchmarks/sections.h"
#include "tenon/ops/functions.h"

namespace tenon::bench {

namespace {

struct Size {
    int64_t batch, heads, kv_heads, length, head_dim;
    double must_forward, must_backward;
};

// The first is a leaf of examples/bible.toml.
constexpr Size sizes[] = {{2, 8, 4, 256, 32, 45, 50}, {16, 12, 12, 256, 64, 45, 50}, {4, 12, 12, 1024, 64, 65, 72}};

}  // namespace

void attention(Bench& bench) {
    bench.section("causal attention, of the f32 peak   B, H/Hkv, T, D");
    for (const Size& s : sizes) {
        const std::string label = "attention " + std::to_string(s.batch) + ", " + std::to_string(s.heads) + "/" +
                                  std::to_string(s.kv_heads) + ", " + std::to_string(s.length) + ", " +
                                  std::to_string(s.head_dim);
        if (!bench.wants(label + " forward") && !bench.wants(label + " backward")) continue;
        const Dims queries = {s.batch, s.heads, s.length, s.head_dim};
        const Dims keys = {s.batch, s.kv_heads, s.length, s.head_dim};
        const Tensor q = ops::randn(queries), k = ops::randn(keys), v = ops::randn(keys), grad = ops::randn(queries);
        // Two products of D multiply-adds for each pair; the backward pass has five.
        const double flops =
            2.0 * static_cast<double>(s.batch * s.heads * s.head_dim) * static_cast<double>(s.length * (s.length + 1));
        bench.share_of_peak({label + " forward", bench.threads(), flops, s.must_forward,
                             [=] { ops::attention_forward(q, k, v, {}, true); }});
        const auto [out, lse] = ops::attention_forward(q, k, v, {}, true);
        const Tensor outputs = out, sums = lse;  // a lambda captures no structured binding
        bench.share_of_peak({label + " backward", bench.threads(), 2.5 * flops, s.must_backward,
                             [=] { ops::attention_backward(grad, q, k, v, outputs, sums, {}, {}, true); }});
    }
}

}  // namespace tenon::bench
