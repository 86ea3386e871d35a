// Every elementwise op and its first and second derivatives: each provider, set, dtype, layout and thread count against
// plain loops over the expression.
#include "tenon/cpu/elementwise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/dispatch.h"
#include "tenon/ops/elementwise_rule.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/table.h"
#include "tests/base/thrown.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::Attributes;
using ops::from_values;
using ops::Op;
using ops::to_vector;

class Elementwise : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

std::vector<const Op*> elementwise_ops(int derivatives) {
    std::vector<const Op*> list;
    for (const Op& op : ops::table().all()) {
        if (op.is_elementwise()) list.push_back(&op);
    }
    for (size_t begin = 0; derivatives > 0; --derivatives) {
        const size_t end = list.size();
        for (; begin < end; ++begin) {
            if (!list[begin]->is_differentiable()) continue;
            const size_t inputs = list[begin]->schema().inputs.size();
            for (size_t i = 0; i < inputs; ++i) list.push_back(&list[begin]->gradient(static_cast<int>(i)));
        }
    }
    return list;
}

// A few special values, then a spread of ordinary ones; never the same twice in a row.
Tensor values(const Shape& shape, DType dtype, uint64_t seed) {
    const auto count = static_cast<size_t>(numel(shape));
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    const auto next = [&state] {
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
    };
    if (!is_floating(dtype)) {
        std::vector<int64_t> list(count);
        for (int64_t& value : list) value = static_cast<int64_t>(next() % 7) - (dtype == DType::u8 ? 0 : 3);
        return ops::cast(from_values(list, shape), dtype);
    }
    const float inf = std::numeric_limits<float>::infinity();
    const float special[] = {0.0f,   -0.0f, 1,    -1, inf, -inf, std::numeric_limits<float>::quiet_NaN(),
                             1e-40f, 3e38f, 0.5f, 2};
    std::vector<float> list(count);
    for (float& value : list) {
        const uint64_t bits = next();
        value = bits % 5 == 0 ? special[bits / 5 % std::size(special)]
                              : static_cast<float>(static_cast<int64_t>(bits)) * 0x1p-61f;  // in [-4, 4)
    }
    return ops::cast(from_values(list, shape), dtype);
}

Attributes attributes_of(const Op& op) {
    Attributes attributes;
    attributes.reals[0] = -0.75;
    attributes.reals[1] = 1.5;
    if (op.schema().name.starts_with("power")) attributes.reals[0] = 3;
    return attributes;
}

Tensor by_reference(const Op& op, std::span<const Tensor> inputs, const Attributes& attributes) {
    ops::Results results;
    ops::elementwise_rule(ops::Call{op, inputs, attributes}, results);
    const auto& result = results.results[0];
    Tensor out(result.shape, result.dtype, Device::cpu);
    size_t reals = 0;
    for (const auto& attribute : op.schema().attributes) reals += attribute.type == ops::AttributeType::real ? 1 : 0;
    const DType meeting = result.dtype == DType::boolean ? ops::promoted_dtype(inputs) : result.dtype;
    cpu::elementwise_reference(scalar::Evaluator(op.expression()), cpu::compute_type(meeting), inputs,
                               {attributes.reals.data(), reals}, out);
    return out;
}

// Bit for bit, but that a NaN is a NaN: compared in f64, which holds every other value.
bool equal(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
    if (!is_floating(a.dtype()))
        return to_vector<int64_t>(ops::cast(a, DType::i64)) == to_vector<int64_t>(ops::cast(b, DType::i64));
    const auto left = to_vector<double>(ops::cast(a, DType::f64)), right = to_vector<double>(ops::cast(b, DType::f64));
    for (size_t i = 0; i < left.size(); ++i) {
        const bool nans = std::isnan(left[i]) && std::isnan(right[i]);
        if (!nans && std::bit_cast<uint64_t>(left[i]) != std::bit_cast<uint64_t>(right[i])) return false;
    }
    return true;
}

std::string first_difference(const Tensor& got, const Tensor& want) {
    if (got.shape() != want.shape() || got.dtype() != want.dtype()) return describe(got) + " and " + describe(want);
    const auto left = to_vector<double>(ops::cast(got, DType::f64)),
               right = to_vector<double>(ops::cast(want, DType::f64));
    for (size_t i = 0; i < left.size(); ++i) {
        const bool nans = std::isnan(left[i]) && std::isnan(right[i]);
        if (!nans && std::bit_cast<uint64_t>(left[i]) != std::bit_cast<uint64_t>(right[i])) {
            return "element " + std::to_string(i) + ": " + std::to_string(left[i]) + ", reference " +
                   std::to_string(right[i]);
        }
    }
    return "none";
}

enum class Layout { contiguous, transposed, sliced, row, column, scalar };

// A tensor of that layout that broadcasts to `shape` (two dims).
Tensor laid_out(const Shape& shape, DType dtype, Layout layout, uint64_t seed) {
    switch (layout) {
        case Layout::contiguous:
            return values(shape, dtype, seed);
        case Layout::transposed:
            return ops::transpose(values({shape[1], shape[0]}, dtype, seed));
        case Layout::sliced:
            return ops::narrow(values({shape[0], shape[1] + 3}, dtype, seed), 1, 2, shape[1]);
        case Layout::row:
            return values({shape[1]}, dtype, seed);
        case Layout::column:
            return values({shape[0], 1}, dtype, seed);
        case Layout::scalar:
            return values({}, dtype, seed);
    }
    return {};
}

void expect_equals_reference(const Op& op, std::span<const Tensor> inputs, const std::string& where) {
    const Attributes attributes = attributes_of(op);
    Tensor want;
    const std::string refusal = tests::thrown([&] { want = by_reference(op, inputs, attributes); });
    if (!refusal.empty()) {
        // Math without an integer form is all that may be refused, and the dispatcher refuses it too.
        const std::string dispatched = tests::thrown([&] { ops::dispatch(op, inputs, attributes); });
        for (const std::string& message : {refusal, dispatched}) {
            EXPECT_NE(message.find("has no integer form"), std::string::npos)
                << op.name() << ", " << where << ": \"" << message << '"';
        }
        return;
    }
    const Tensor got = ops::dispatch(op, inputs, attributes);
    EXPECT_TRUE(equal(got, want)) << op.name() << ", " << where << ": " << first_difference(got, want);
}

TEST_F(Elementwise, EveryOpAndDerivativeHasTheReferencesBitsOnEverySetAndDtype) {
    for (const auto set : sweep::sets()) {
        const cpu::ForcedInstructionSet forced(set);
        for (const Op* op : elementwise_ops(1)) {
            for (const DType dtype :
                 {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8, DType::boolean}) {
                std::vector<Tensor> inputs;
                for (size_t i = 0; i < op->schema().inputs.size(); ++i) inputs.push_back(values({3, 37}, dtype, i + 1));
                expect_equals_reference(*op, inputs, std::string(cpu::name(set)) + " " + std::string(name_of(dtype)));
            }
        }
    }
}

TEST_F(Elementwise, SecondDerivativesRun) {
    for (const Op* op : elementwise_ops(2)) {
        for (const DType dtype : {DType::f32, DType::f64}) {
            std::vector<Tensor> inputs;
            for (size_t i = 0; i < op->schema().inputs.size(); ++i) inputs.push_back(values({5}, dtype, i + 1));
            expect_equals_reference(*op, inputs, std::string(name_of(dtype)));
        }
    }
}

TEST_F(Elementwise, EveryLayoutOfEveryOperandGivesTheSameElements) {
    const Layout layouts[] = {Layout::contiguous, Layout::transposed, Layout::sliced,
                              Layout::row,        Layout::column,     Layout::scalar};
    // Rows short and long: gathered across rows, and cut row by row.
    for (const Shape& shape :
         {Shape{7, 5}, Shape{40, 61}, Shape{3, 700}, Shape{2, 2500}, Shape{1, 9}, Shape{9, 1}, Shape{0, 4}}) {
        for (const Layout left : layouts) {
            for (const Layout right : layouts) {
                for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i64}) {
                    const Tensor inputs[] = {laid_out(shape, dtype, left, 1), laid_out(shape, DType::f32, right, 2)};
                    for (const char* name : {"sub", "lt"}) {
                        expect_equals_reference(
                            ops::lookup(name), inputs,
                            to_string(shape) + " layouts " + std::to_string(static_cast<int>(left)) + " " +
                                std::to_string(static_cast<int>(right)) + " " + std::string(name_of(dtype)));
                    }
                }
            }
        }
    }
}

TEST_F(Elementwise, FourDimsPermutedAndBroadcast) {
    const Tensor base = values({4, 5, 6, 7}, DType::f32, 1);
    const Tensor inputs[] = {ops::permute(base, {2, 0, 3, 1}), values({4, 1, 5}, DType::f32, 2)};
    expect_equals_reference(ops::lookup("mul"), inputs, "permuted");
    const Tensor expanded[] = {ops::expand(values({6, 1, 7, 1}, DType::f32, 3), {6, 4, 7, 5}),
                               values({6, 4, 7, 5}, DType::bf16, 4)};
    expect_equals_reference(ops::lookup("maximum"), expanded, "expanded");
}

// Large enough to be cut into several tasks, and for a transposed operand to be copied first.
TEST_F(Elementwise, LargeOperandsOfEveryLayoutGiveTheSameElements) {
    const Shape shape{130, 140};
    for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced, Layout::row, Layout::column}) {
        for (const DType dtype : {DType::f32, DType::bf16}) {
            const Tensor inputs[] = {laid_out(shape, dtype, layout, 1), laid_out(shape, dtype, Layout::transposed, 2)};
            expect_equals_reference(ops::lookup("sub"), inputs, "layout " + std::to_string(static_cast<int>(layout)));
        }
    }
}

TEST_F(Elementwise, ThreadsChangeNothing) {
    const int before = cpu::threads();
    const Tensor inputs[] = {values({300, 517}, DType::f32, 1), values({517}, DType::f32, 2)};
    cpu::set_threads(1);
    const Tensor alone = ops::mul(ops::silu(inputs[0]), inputs[1]);
    for (const int threads : {2, 3, 4}) {
        cpu::set_threads(threads);
        EXPECT_TRUE(equal(ops::mul(ops::silu(inputs[0]), inputs[1]), alone)) << threads;
    }
    cpu::set_threads(before);
}

TEST_F(Elementwise, PowOfSmallExponentsIsProductsAndRoots) {
    const Tensor x = values({300}, DType::f32, 1);
    EXPECT_TRUE(equal(ops::pow(x, 2), ops::mul(x, x)));
    EXPECT_TRUE(equal(ops::pow(x, 3), ops::mul(ops::mul(x, x), x)));
    EXPECT_TRUE(equal(ops::pow(x, 0.5), ops::sqrt(x)));
    EXPECT_TRUE(equal(ops::pow(x, -1), ops::reciprocal(x)));
    EXPECT_EQ(to_vector<int64_t>(ops::pow(from_values(std::vector<int64_t>{-3, 2, 10}, {3}), 5)),
              (std::vector<int64_t>{-243, 32, 100000}));
    EXPECT_EQ(ops::pow(from_values(std::vector<int64_t>{4}, {1}), 0.5).dtype(), DType::f32);
}

TEST_F(Elementwise, DerivativesAtTheJumpsArePyTorchs) {
    const Tensor x = from_values(std::vector<float>{-1, 0, 1, 2}, {4}),
                 ones = from_values(std::vector<float>{1, 1, 1, 1}, {4});
    const auto gradient = [&](const char* name, int input, std::vector<Tensor> inputs, Attributes attributes = {}) {
        inputs.push_back(ones);
        return to_vector<float>(ops::dispatch(ops::lookup(name).gradient(input), inputs, attributes));
    };
    EXPECT_EQ(gradient("relu", 0, {x}), (std::vector<float>{0, 0, 1, 1}));
    EXPECT_EQ(gradient("abs", 0, {x}), (std::vector<float>{-1, 0, 1, 1}));
    EXPECT_EQ(gradient("sign", 0, {x}), (std::vector<float>{0, 0, 0, 0}));
    const Tensor zero = from_values(std::vector<float>{0, 0, 0, 3}, {4});
    EXPECT_EQ(gradient("maximum", 0, {x, zero}), (std::vector<float>{0, 0.5f, 1, 0}));
    EXPECT_EQ(gradient("minimum", 1, {x, zero}), (std::vector<float>{0, 0.5f, 1, 0}));
    Attributes bounds;
    bounds.reals[0] = -1;
    bounds.reals[1] = 1;
    EXPECT_EQ(gradient("clamp", 0, {x}, bounds), (std::vector<float>{0, 1, 0, 0}));
    // A bound that is infinite is none: the gradient passes at infinity too.
    bounds.reals[1] = HUGE_VAL;
    const Tensor far = from_values(std::vector<float>{-1, HUGE_VALF, std::nanf(""), 5}, {4});
    EXPECT_EQ(gradient("clamp", 0, {far}, bounds), (std::vector<float>{0, 1, 0, 1}));
}

TEST_F(Elementwise, AGradientThatIsChosenAgainstLeavesNoTrace) {
    const float inf = HUGE_VALF;
    const Tensor x = from_values(std::vector<float>{-1, 2, -3, 4}, {4});
    const Tensor incoming = from_values(std::vector<float>{inf, 1, -5, -inf}, {4});
    const Tensor mask = from_values(std::vector<float>{1, 0, 1, 0}, {4});
    const std::vector<uint64_t> kept =
        tenon::sweep::bits(from_values(std::vector<float>{0, 1, 0, -inf}, {4}));  // +0 where the choice went elsewhere
    const auto gradient = [&](const char* name, int input, std::vector<Tensor> inputs, Attributes attributes = {}) {
        inputs.push_back(incoming);
        return tenon::sweep::bits(ops::dispatch(ops::lookup(name).gradient(input), inputs, attributes));
    };
    const Tensor zero = ops::zeros({4});
    Attributes bounds;
    bounds.reals[0] = 0, bounds.reals[1] = 10;
    EXPECT_EQ(gradient("relu", 0, {x}), kept);
    EXPECT_EQ(gradient("clamp", 0, {x}, bounds), kept);
    EXPECT_EQ(gradient("maximum", 0, {x, zero}), kept);
    EXPECT_EQ(gradient("minimum", 1, {zero, ops::neg(x)}), kept);
    EXPECT_EQ(gradient("masked_fill", 0, {x, mask}), kept);
    EXPECT_EQ(gradient("where", 2, {mask, zero, x}), kept);
}

TEST_F(Elementwise, ARealAttributeThatIntegersDoNotHoldMakesFloats) {
    const Tensor x = from_values(std::vector<int64_t>{0, 1, 2, 3}, {4});
    EXPECT_EQ(to_vector<float>(ops::clamp(x, 0.5, 2.5)), (std::vector<float>{0.5F, 1, 2, 2.5F}));
    EXPECT_EQ(ops::clamp(x, 1, 2).dtype(), DType::i64);
}

TEST_F(Elementwise, CastsRoundToNearestEvenAndCutTowardZero) {
    const auto cast_of = [](std::vector<float> from, DType dtype) {
        const Tensor x = from_values(from, {static_cast<int64_t>(from.size())});
        return to_vector<double>(ops::cast(ops::cast(x, dtype), DType::f64));
    };
    // PyTorch's on x86: what i32 does not hold is its minimum.
    const float inf = HUGE_VALF, least = -0x1p31F;
    EXPECT_EQ(cast_of({3e9F, std::nanf(""), -inf, -2.9F}, DType::i32), (std::vector<double>{least, least, least, -2}));
    // bf16 keeps 8 bits: 256 and 258 are neighbours, f16 keeps 11: 2048 and 2050.
    EXPECT_EQ(cast_of({257, 259, 256.9f}, DType::bf16), (std::vector<double>{256, 260, 256}));
    EXPECT_EQ(cast_of({2049, 2051, 65519, 65520}, DType::f16), (std::vector<double>{2048, 2052, 65504, HUGE_VAL}));
    EXPECT_EQ(cast_of({2.9f, -2.9f, 0.1f}, DType::i64), (std::vector<double>{2, -2, 0}));
    EXPECT_EQ(cast_of({0.0f, -0.0f, 0.1f, NAN}, DType::boolean), (std::vector<double>{0, 0, 1, 1}));
    const std::vector<int64_t> large = {(int64_t{1} << 24) + 1, (int64_t{1} << 24) + 3};
    EXPECT_EQ(to_vector<float>(ops::cast(from_values(large, {2}), DType::f32)),
              (std::vector<float>{16777216, 16777220}));
}

TEST_F(Elementwise, ANumberTakesTheDtypeOfItsTensor) {
    const Tensor half = ops::cast(from_values(std::vector<float>{1, 2}, {2}), DType::bf16);
    EXPECT_EQ(ops::mul(half, ops::number(2.5)).dtype(), DType::bf16);
    EXPECT_EQ(ops::add(from_values(std::vector<int64_t>{1}, {1}), ops::number(0.5)).dtype(), DType::f32);
    EXPECT_EQ(ops::div(from_values(std::vector<int64_t>{7}, {1}), from_values(std::vector<int64_t>{2}, {1})).dtype(),
              DType::f32);
}

TEST_F(Elementwise, EachProviderCanBeForced) {
    const Tensor x = values({100}, DType::f32, 1);
    const Tensor tiles = ops::silu(x);
    const ops::ForceProvider forced("silu", "reference");
    EXPECT_TRUE(equal(ops::silu(x), tiles));
}

}  // namespace
}  // namespace tenon
