// Result dtypes against PyTorch's (tests/golden/ops/promotion.json, made by tests/golden/make/ops_parity.py). All on
// meta: a dtype needs no values. What PyTorch refuses is refused here too, but for the calls of a bool listed below.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/json.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/dispatch.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/table.h"

namespace tenon::ops {
namespace {

class Promotion : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

const base::Json& golden() {
    static const std::string path = std::string(TENON_GOLDEN_DIR) + "/ops/promotion.json";
    static const base::Json json = base::parse_json(base::read_file(path), path);
    return json;
}

Tensor meta(const Shape& shape, std::string_view dtype) {
    return Tensor(shape, dtype_from(dtype), Device::meta);
}

// The dtype of a call of a bool that PyTorch refuses and Tenon takes: a bool is the integer 0 or 1 there, and what is
// not 0 becomes true. Empty for every other call.
std::string taken_here(const std::string& op, const std::vector<Tensor>& inputs) {
    bool has_bool = false;
    for (const Tensor& input : inputs) has_bool = has_bool || input.dtype() == DType::boolean;
    if (!has_bool) return "";
    // As mul, which PyTorch does take.
    if (op == "sub") return std::string(name_of(mul(inputs[0], inputs[1]).dtype()));
    if (op == "neg" || op == "abs" || op == "relu") return "bool";
    return op == "argmax" ? "i64" : "";
}

void expect_dtype(const std::string& op, const std::vector<Tensor>& inputs, const base::Json& expected) {
    const Op& entry = lookup(op);
    std::string call = op;
    for (const Tensor& input : inputs) call += " " + describe(input) + (input.get().weak ? " (number)" : "");
    if (expected.string() == "error") {
        const std::string taken = taken_here(op, inputs);
        if (taken.empty()) {
            EXPECT_THROW(dispatch(entry, inputs, entry.attributes({})), Error) << call << ": PyTorch refuses this";
        } else {
            EXPECT_EQ(name_of(dispatch(entry, inputs, entry.attributes({})).dtype()), taken) << call;
        }
        return;
    }
    const Tensor result = dispatch(entry, inputs, entry.attributes({}));
    EXPECT_EQ(name_of(result.dtype()), expected.string()) << call;
}

// body(op, a, b, expected) for each entry of a table of two operands.
template <typename Body>
void each_pair(const char* section, Body body) {
    for (const auto& [op, rows] : golden().at(section).object_value()) {
        for (const auto& [a, row] : rows.object_value()) {
            for (const auto& [b, expected] : row.object_value()) body(op, a, b, expected);
        }
    }
}

TEST_F(Promotion, TensorsWithDimsMeetAsInPyTorch) {
    each_pair("tensor_tensor",
              [](const std::string& op, const std::string& a, const std::string& b, const base::Json& e) {
                  expect_dtype(op, {meta({2, 3}, a), meta({3}, b)}, e);
              });
}

TEST_F(Promotion, AZeroDimensionalTensorYieldsAsInPyTorch) {
    each_pair("tensor_0d", [](const std::string& op, const std::string& a, const std::string& b, const base::Json& e) {
        expect_dtype(op, {meta({2, 3}, a), meta({}, b)}, e);
    });
}

TEST_F(Promotion, ANumberInSourceCodeYieldsAsInPyTorch) {
    each_pair("tensor_number",
              [](const std::string& op, const std::string& a, const std::string& b, const base::Json& e) {
                  if (b == "bool") return;  // numbers are integers or reals here
                  expect_dtype(op, {meta({2, 3}, a), b == "int" ? number(int64_t{2}) : number(2.5)}, e);
              });
}

TEST_F(Promotion, WhereMeetsItsTwoValues) {
    for (const auto& [a, row] : golden().at("where").object_value()) {
        for (const auto& [b, expected] : row.object_value()) {
            expect_dtype("where", {meta({2, 3}, "bool"), meta({2, 3}, a), meta({3}, b)}, expected);
        }
    }
}

TEST_F(Promotion, OneOperandKeepsOrFloatsItsDtype) {
    for (const auto& [op, row] : golden().at("unary").object_value()) {
        if (op.starts_with("pow")) continue;  // the exponent is an attribute here, always real
        for (const auto& [a, expected] : row.object_value()) {
            if (op == "square" && a == "bool") continue;  // bool here, as any product of bools; i64 in PyTorch
            expect_dtype(op, {meta({2, 3}, a)}, expected);
        }
    }
}

TEST_F(Promotion, ReductionsGiveTheirDtype) {
    for (const auto& [op, row] : golden().at("reduction").object_value()) {
        for (const auto& [a, expected] : row.object_value()) expect_dtype(op, {meta({2, 3}, a)}, expected);
    }
}

TEST_F(Promotion, ABoolIsZeroOrOneWherePyTorchRefusesIt) {
    const Tensor x = cast(from_values(std::vector<int64_t>{0, 0, 1, 1}, {4}), DType::boolean),
                 y = cast(from_values(std::vector<int64_t>{0, 1, 0, 1}, {4}), DType::boolean);
    const auto values = [](const Tensor& result) { return to_vector<int64_t>(cast(result, DType::i64)); };
    EXPECT_EQ(values(sub(x, y)), (std::vector<int64_t>{0, 1, 1, 0}));
    EXPECT_EQ(values(sub(x, from_values(std::vector<int64_t>{5, 5, 5, 5}, {4}))),
              (std::vector<int64_t>{-5, -5, -4, -4}));
    for (const Tensor& same : {neg(x), abs(x), relu(x)}) EXPECT_EQ(values(same), values(x));
    EXPECT_EQ(values(argmax(x)), (std::vector<int64_t>{2}));
}

}  // namespace
}  // namespace tenon::ops
