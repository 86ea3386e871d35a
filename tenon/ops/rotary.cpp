// Rotary position embedding. Su et al. 2021, arXiv:2104.09864; halves rotate against each other, as Transformers has
// it.
#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/operators.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

// cos and sin: [..., head_dim / 2], broadcast over x's leading dims; f32, or of x's dtype.
void check_table(const Call& call, int input) {
    const Tensor &x = call.input(0), &table = call.input(input);
    bool fits = table.rank() >= 1 && table.rank() <= x.rank() && table.size(-1) * 2 == x.size(-1);
    for (int64_t d = -2; fits && d >= -table.rank(); --d) fits = table.size(d) == 1 || table.size(d) == x.size(d);
    const bool has_dtype = table.dtype() == x.dtype() || (table.dtype() == DType::f32 && x.dtype() != DType::f64);
    if (!fits || !has_dtype) {
        throw Error(Code::usage, "rope",
                    call.op.schema().inputs[static_cast<size_t>(input)].name + " is " + describe(table) +
                        ", which does not turn x " + describe(x) + ": it needs half as many columns, f32 or x's dtype");
    }
}

void register_rope(Table& table) {
    table.op("rope(x, cos, sin, inverse: bool = false)")
        .doc(
            "With x1, x2 the halves of x's last dim: x1·cos - x2·sin and x2·cos + x1·sin. cos and sin broadcast over "
            "x's leading dims. `inverse` turns back, by -sin.")
        .rule([](const Call& call, Results& results) {
            const Tensor& x = call.input(0);
            if (x.rank() < 1 || x.size(-1) % 2 != 0 || !is_floating(x.dtype())) {
                throw Error(Code::usage, "rope", "needs floating rows of even length, got " + describe(x));
            }
            check_table(call, 1);
            check_table(call, 2);
            results.add(x.shape(), x.dtype());
        })
        .derivative({"x", "cos", "sin"},
                    [](const Backward& b, std::span<Tensor> grads) {
                        const Tensor &x = b.input(0), &g = b.grad();
                        if (b.needs(0)) grads[0] = rope(g, b.input(1), b.input(2), !b.boolean(0));
                        if (!b.needs(1) && !b.needs(2)) return;
                        const int64_t half = b.shape(0).back() / 2;
                        const Tensor x1 = narrow(x, -1, 0, half), x2 = narrow(x, -1, half, half);
                        const Tensor g1 = narrow(g, -1, 0, half), g2 = narrow(g, -1, half, half);
                        if (b.needs(1)) grads[1] = g1 * x1 + g2 * x2;
                        if (b.needs(2)) grads[2] = b.boolean(0) ? g1 * x2 - g2 * x1 : g2 * x1 - g1 * x2;
                    })
        .cost([](const Call& call, const Results&) {
            const auto elements = static_cast<double>(call.input(0).numel());
            return Cost{3 * elements, 2 * elements * static_cast<double>(size_of(call.input(0).dtype())), 0};
        })
        .keeps_f32()
        .sample({normal({2, 3, 5, 8}), unit({5, 4}), unit({5, 4})})
        .sample({normal({2, 1, 3, 6}), unit({2, 1, 3, 3}), unit({2, 1, 3, 3})}, {{"inverse", true}})
        .sample({normal({34}), unit({17}), unit({17})})
        .sample({normal({0, 4}), unit({2}), unit({2})})
        .error({normal({5, 7}), unit({5, 3}), unit({5, 3})}, {}, "even length")
        .error({normal({5, 8}), unit({5, 4}), unit({4, 4})}, {}, "sin is f32[4, 4]");

    table.op("rope_tables(length: int, head_dim: int, theta: real = 10000, device: device) -> (cos, sin)")
        .doc(
            "cos and sin f32 [length, head_dim/2] of position · theta^(-2i/head_dim). As Transformers rounds to f32: "
            "the "
            "exponent 2i/head_dim, the power, its reciprocal, the angle. The reduction of the angle is exact.")
        .rule([](const Call& call, Results& results) {
            const int64_t length = call.integer(0), head_dim = call.integer(1);
            if (length < 0 || head_dim < 2 || head_dim % 2 != 0 || !(call.real(0) > 0)) {
                throw Error(Code::usage, "rope_tables",
                            "length " + std::to_string(length) + ", head_dim " + std::to_string(head_dim) + ", theta " +
                                std::to_string(call.real(0)) + ": head_dim must be even and theta positive");
            }
            results.add({length, head_dim / 2}, DType::f32);
            results.add({length, head_dim / 2}, DType::f32);
        })
        .no_derivative("takes no tensor")
        .cost([](const Call& call, const Results&) {
            const double elements = static_cast<double>(call.integer(0)) * static_cast<double>(call.integer(1));
            return Cost{40 * elements, 4 * elements, 0};
        })
        .sample({}, {{"length", 5}, {"head_dim", 8}})
        .sample({}, {{"length", 3}, {"head_dim", 34}, {"theta", 500000.0}})
        .sample({}, {{"length", 0}, {"head_dim", 2}})
        .error({}, {{"length", 5}, {"head_dim", 7}}, "head_dim must be even");
}

}  // namespace

void register_rotary(Table& table) {
    register_rope(table);
}

}  // namespace tenon::ops
