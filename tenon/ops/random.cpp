// Keyed randomness. Each op that draws is a composite over its keyed form: the composite takes the next draw of this
// pass or of the generator (core/random.h); the keyed form is a function of its arguments, so it can be traced,
// recomputed and differentiated. Element i, counted in the logical order of the result, takes word i of the stream.
#include <cmath>

#include "tenon/base/error.h"
#include "tenon/core/random.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/range_of_dtype.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

constexpr std::string_view no_inputs = "takes no tensor";

// Attributes hold i64: a key's bits as they are.
int64_t key_of(const Draw& draw) {
    return static_cast<int64_t>(draw.key);
}

void check_floating(DType dtype, std::string_view op) {
    if (is_floating(dtype)) return;
    throw Error(Code::usage, op, "draws floating numbers, not " + std::string(name_of(dtype)) + "; use randint");
}

void check_bounds(int64_t low, int64_t high) {
    if (low < high && high - low <= int64_t{1} << 32) return;
    throw Error(Code::usage, "randint",
                "[" + std::to_string(low) + ", " + std::to_string(high) + ") has to hold 1 to 2^32 integers");
}

void register_keyed(Table& table) {
    table.op("rand_keyed(shape: dims, key: int, step: int, leaf: int, dtype: dtype = f32, device: device)")
        .doc(
            "Uniform in [0, 1), from the stream of `key` at (step, leaf): 24 bits of each word; bf16 takes the first "
            "8, "
            "f16 the first 11.")
        .rule([](const Call& call, Results& results) {
            check_floating(call.dtype(3), "rand");
            results.add(call.dims(), call.dtype(3));
        })
        .no_derivative(no_inputs)
        .sample({}, {{"shape", Dims{3, 5}}, {"key", 1}, {"step", 2}, {"leaf", 3}})
        .sample({}, {{"shape", Dims{}}, {"key", -1}, {"step", 0}, {"leaf", 0}, {"dtype", DType::bf16}})
        .error({}, {{"shape", Dims{2}}, {"key", 1}, {"step", 0}, {"leaf", 0}, {"dtype", DType::i64}}, "use randint");

    table
        .op("randn_keyed(shape: dims, mean: real, std: real, key: int, step: int, leaf: int, dtype: dtype = f32, "
            "device: device)")
        .doc("Normal numbers, mean + std * z: Box and Muller 1958, on words (2j, 2j + 1) for elements (2j, 2j + 1).")
        .rule([](const Call& call, Results& results) {
            check_floating(call.dtype(3), "randn");
            results.add(call.dims(), call.dtype(3));
        })
        .no_derivative(no_inputs)
        .sample({}, {{"shape", Dims{3, 5}}, {"mean", 0.0}, {"std", 0.02}, {"key", 1}, {"step", 2}, {"leaf", 3}})
        .sample({}, {{"shape", Dims{0, 4}}, {"mean", 0.0}, {"std", 1.0}, {"key", 1}, {"step", 0}, {"leaf", 0}})
        .error({},
               {{"shape", Dims{2}},
                {"mean", 0.0},
                {"std", 1.0},
                {"key", 1},
                {"step", 0},
                {"leaf", 0},
                {"dtype", DType::u8}},
               "use randint");

    table
        .op("randint_keyed(low: int, high: int, shape: dims, key: int, step: int, leaf: int, dtype: dtype = i64, "
            "device: device)")
        .doc("Integers in [low, high): low + floor(word * (high - low) / 2^32).")
        .rule([](const Call& call, Results& results) {
            check_bounds(call.integer(0), call.integer(1));
            check_holds(call.dtype(5), static_cast<double>(call.integer(0)), "randint");
            check_holds(call.dtype(5), static_cast<double>(call.integer(1) - 1), "randint");
            results.add(call.dims(), call.dtype(5));
        })
        .no_derivative(no_inputs)
        .sample({}, {{"low", -3}, {"high", 10}, {"shape", Dims{3, 5}}, {"key", 1}, {"step", 2}, {"leaf", 3}})
        .error({}, {{"low", 3}, {"high", 3}, {"shape", Dims{2}}, {"key", 1}, {"step", 0}, {"leaf", 0}}, "has to hold 1")
        .error(
            {},
            {{"low", 0}, {"high", 300}, {"shape", Dims{2}}, {"key", 1}, {"step", 0}, {"leaf", 0}, {"dtype", DType::u8}},
            "u8 does not hold 299");

    table.op("dropout_keyed(x, p: real, key: int, step: int, leaf: int)")
        .doc("0 with probability p, else x / (1 - p); the mask is a function of the key and of each element's index.")
        .rule([](const Call& call, Results& results) {
            dropout_threshold(call.real(0));
            check_floating(call.input(0).dtype(), "dropout");
            results.add(call.input(0).shape(), call.input(0).dtype());
        })
        // Linear in x, and the key makes the same mask again.
        .derivative({},
                    [](const Backward& b, std::span<Tensor> grads) {
                        grads[0] = dropout_keyed(b.grad(), b.real(0), b.integer(0), b.integer(1), b.integer(2));
                    })
        .recompute(Recompute::cheap)
        .sample({normal({3, 5})}, {{"p", 0.5}, {"key", 1}, {"step", 2}, {"leaf", 3}})
        .sample({normal({})}, {{"p", 1.0}, {"key", 1}, {"step", 0}, {"leaf", 0}})
        .sample({normal({0, 2})}, {{"p", 0.25}, {"key", 1}, {"step", 0}, {"leaf", 0}})
        .error({normal({2})}, {{"p", 1.5}, {"key", 1}, {"step", 0}, {"leaf", 0}}, "a probability lies in [0, 1]");
}

void register_drawing(Table& table) {
    table.op("dropout(x, p: real = 0.5, training: bool = true)")
        .doc("In training 0 with probability p, else x / (1 - p); x itself otherwise. Srivastava et al. 2014.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            dropout_threshold(call.real(0));
            if (!call.boolean(0) || call.real(0) == 0) return {call.input(0)};
            const Draw draw = next_draw("dropout");
            return {dropout_keyed(call.input(0), call.real(0), key_of(draw), draw.step, draw.leaf)};
        })
        .skip_gradient_check("each call draws another mask; dropout_keyed is checked")
        .sample({normal({3, 5})})
        .sample({normal({3, 5})}, {{"p", 0.3}, {"training", false}})
        .error({normal({2})}, {{"p", -0.5}}, "a probability lies in [0, 1]")
        .like("torch.nn.functional.dropout");

    table.op("rand(shape: dims, dtype: dtype = f32, device: device)")
        .doc("Uniform in [0, 1).")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const Draw draw = next_draw("rand");
            return {rand_keyed(call.dims(), key_of(draw), draw.step, draw.leaf, call.dtype(0), call.device())};
        })
        .sample({}, {{"shape", Dims{3, 5}}})
        .like("torch.rand");

    table.op("randn(shape: dims, dtype: dtype = f32, device: device)")
        .doc("Standard normal.")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const Draw draw = next_draw("randn");
            return {randn_keyed(call.dims(), 0, 1, key_of(draw), draw.step, draw.leaf, call.dtype(0), call.device())};
        })
        .sample({}, {{"shape", Dims{3, 5}}})
        .like("torch.randn");

    table.op("randint(low: int, high: int, shape: dims, dtype: dtype = i64, device: device)")
        .doc("Integers in [low, high).")
        .composite([](const Call& call) -> std::vector<Tensor> {
            const Draw draw = next_draw("randint");
            return {randint_keyed(call.integer(0), call.integer(1), call.dims(), key_of(draw), draw.step, draw.leaf,
                                  call.dtype(2), call.device())};
        })
        .sample({}, {{"low", 0}, {"high", 10}, {"shape", Dims{3, 5}}})
        .error({}, {{"low", 1}, {"high", 0}, {"shape", Dims{2}}}, "has to hold 1")
        .like("torch.randint");
}

}  // namespace

void register_random(Table& table) {
    register_keyed(table);
    register_drawing(table);
}

}  // namespace tenon::ops
