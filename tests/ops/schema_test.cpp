#include "tenon/ops/schema.h"

#include <gtest/gtest.h>

#include <string>

#include "tenon/base/error.h"

namespace tenon::ops {
namespace {

TEST(Schemas, InputsAttributesAndResultsAreRead) {
    const Schema s =
        parse_schema("adamw(p!, g, bias?, rest[], lr: real, on: bool = true, shape: dims, n: int = -2) -> (a, b)");
    EXPECT_EQ(s.name, "adamw");
    ASSERT_EQ(s.inputs.size(), 4U);
    EXPECT_TRUE(s.inputs[0].mutated);
    EXPECT_FALSE(s.inputs[1].mutated);
    EXPECT_TRUE(s.inputs[2].optional);
    EXPECT_TRUE(s.inputs[3].list);
    ASSERT_EQ(s.attributes.size(), 4U);
    EXPECT_EQ(s.attribute("lr").type, AttributeType::real);
    EXPECT_FALSE(s.attribute("lr").fallback);
    EXPECT_EQ(s.attribute("on").slot, 0);
    EXPECT_EQ(s.attribute("n").slot, 1);
    EXPECT_EQ(s.attribute("n").fallback, "-2");
    EXPECT_EQ(s.outputs, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(s.input_index("bias"), 2);
    EXPECT_EQ(s.output_index("b"), 1);
    EXPECT_EQ(s.output_index("c"), -1);
    EXPECT_EQ(s.input_index("q"), -1);
}

TEST(Schemas, OneUnnamedResultIsTheDefault) {
    EXPECT_EQ(parse_schema("relu(x)").outputs, (std::vector<std::string>{"out"}));
    EXPECT_EQ(parse_schema("zeros()").inputs.size(), 0U);
    EXPECT_TRUE(parse_schema("assign(x!, y) -> none").outputs.empty());
    EXPECT_TRUE(parse_schema("split(x, size: int) -> tensors").list_output);
    EXPECT_EQ(parse_schema("f( x ,y )->  z").outputs[0], "z");
}

TEST(Schemas, AMistakeIsQuotedWithItsPlace) {
    const auto message = [](const char* text) -> std::string {
        try {
            parse_schema(text);
        } catch (const Error& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(message("f(x"), "[schema] ')' is missing at character 3 of \"f(x\"");
    EXPECT_NE(message("f(x, n: float)").find("unknown attribute type float"), std::string::npos);
    EXPECT_NE(message("f(x) y").find("'-' is missing"), std::string::npos);
    EXPECT_NE(message("(x)").find("a name is missing"), std::string::npos);
    EXPECT_NE(message("f(a: dims, b: dims)").find("too many attributes"), std::string::npos);
    EXPECT_NE(message("f(x) -> y z").find("unexpected text"), std::string::npos);
}

}  // namespace
}  // namespace tenon::ops
