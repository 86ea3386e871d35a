#include "tenon/base/json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/base/unicode.h"
#include "tests/base/thrown.h"

namespace rc {

// Any tree of at most `depth` levels, with all code points in its strings and all bit patterns in its reals.
static Gen<std::string> arbitrary_text() {
    return gen::map(gen::container<std::vector<uint32_t>>(gen::inRange<uint32_t>(0, 0x110000)),
                    [](const std::vector<uint32_t>& points) {
                        std::string text;
                        for (uint32_t point : points) {
                            if (point < 0xD800 || point > 0xDFFF) tenon::base::append_utf8(text, point % 0x3000);
                        }
                        return text;
                    });
}

static Gen<tenon::base::Json> arbitrary_json(int depth) {
    using tenon::base::Json;
    const auto real = gen::map(gen::arbitrary<uint64_t>(), [](uint64_t bits) {
        double value;
        static_assert(sizeof(value) == sizeof(bits));
        std::memcpy(&value, &bits, sizeof(value));
        return Json(std::isfinite(value) ? value : 0.5);
    });
    const auto scalar = gen::oneOf(gen::just(Json()), gen::map(gen::arbitrary<bool>(), [](bool b) { return Json(b); }),
                                   gen::map(gen::arbitrary<int64_t>(), [](int64_t i) { return Json(i); }), real,
                                   gen::map(arbitrary_text(), [](const std::string& text) { return Json(text); }));
    if (depth == 0) return scalar;
    const auto children = gen::container<std::vector<Json>>(gen::resize(5, arbitrary_json(depth - 1)));
    const auto object = gen::map(gen::pair(children, gen::container<std::vector<std::string>>(arbitrary_text())),
                                 [](const std::pair<std::vector<Json>, std::vector<std::string>>& parts) {
                                     Json result = Json::object();
                                     for (size_t i = 0; i < parts.first.size() && i < parts.second.size(); ++i) {
                                         result.set(parts.second[i], parts.first[i]);
                                     }
                                     return result;
                                 });
    return gen::oneOf(scalar, gen::map(children, [](const std::vector<Json>& elements) { return Json(elements); }),
                      object);
}

}  // namespace rc

namespace tenon::base {

using tests::thrown;

RC_GTEST_PROP(JsonText, ReadsBackWhatItWrote, ()) {
    const Json json = *rc::arbitrary_json(3);
    RC_ASSERT(parse_json(json.dump(), "dump") == json);
    RC_ASSERT(parse_json(json.pretty(), "pretty") == json);
}

RC_GTEST_PROP(JsonText, BrokenTextIsAnErrorAndNeverACrash, ()) {
    std::string text = (*rc::arbitrary_json(2)).dump();
    const auto at = *rc::gen::inRange<size_t>(0, text.size());
    if (*rc::gen::arbitrary<bool>()) {
        text.resize(at);
    } else {
        text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
    }
    const std::string message = thrown([&] { parse_json(text, "x.json"); });
    RC_ASSERT(message.empty() || message.rfind("[json] x.json:", 0) == 0);
}

TEST(JsonText, KeepsTheOrderOfMembersAndExactIntegers) {
    const std::string text = R"({"z":9223372036854775807,"a":-9223372036854775808,"m":[1,2.0,true,null]})";
    const Json json = parse_json(text, "t");
    EXPECT_EQ(json.dump(), text);
    EXPECT_EQ(json.at("z").integer(), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(json.at("a").integer(), std::numeric_limits<int64_t>::min());
    EXPECT_TRUE(json.at("m").at(0).is(Json::Kind::integer));
    EXPECT_TRUE(json.at("m").at(1).is(Json::Kind::real));
}

TEST(JsonText, WritesRealsShortestAndNonFiniteOnesAsStrings) {
    const double infinity = std::numeric_limits<double>::infinity();
    const Json json =
        Json::array({0.1, 1.0, 1e22, -0.0, 5e-324, 1.7976931348623157e308, infinity, -infinity, -std::nan("")});
    EXPECT_EQ(json.dump(), R"([0.1,1.0,1e+22,-0.0,5e-324,1.7976931348623157e+308,"inf","-inf","nan"])");
    const Json back = parse_json(json.dump(), "t");
    EXPECT_TRUE(std::signbit(back.at(3).real()));
    EXPECT_EQ(back.at(6).real(), infinity);
    EXPECT_EQ(back.at(7).real(), -infinity);
    EXPECT_TRUE(std::isnan(back.at(8).real()));
}

TEST(JsonText, TakesWholeNumbersOutsideInt64AsReals) {
    const Json json = parse_json("[9223372036854775808, 18446744073709551616, 1000000000000000019884624838656]", "t");
    EXPECT_EQ(json.at(0).real(), 9223372036854775808.0);
    EXPECT_EQ(json.at(1).real(), 18446744073709551616.0);
    EXPECT_EQ(json.at(2).real(), 1e30);
}

TEST(JsonText, EscapesWhatTheStandardAsksFor) {
    EXPECT_EQ(Json("a\"\\/\b\f\n\r\t\x01\x1f\x7f ä€😀").dump(), "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f ä€😀\"");
    EXPECT_EQ(parse_json(R"("\u00e4\u20ac\ud83d\ude00\/")", "t").string(), "ä€😀/");
    EXPECT_EQ(thrown([] { Json("\xff").dump(); }), "[json] a string to be written is not UTF-8 (byte 0)");
}

TEST(JsonText, PrettyIsForPeople) {
    const Json json = Json::object({{"shape", Json::array({2, 3})},
                                    {"empty", Json::object()},
                                    {"files", Json::array({Json::object({{"name", "a"}}), Json::array()})}});
    EXPECT_EQ(json.pretty(),
              "{\n"
              "  \"shape\": [2, 3],\n"
              "  \"empty\": {},\n"
              "  \"files\": [\n"
              "    {\n"
              "      \"name\": \"a\"\n"
              "    },\n"
              "    []\n"
              "  ]\n"
              "}");
}

TEST(JsonText, ErrorsNameFileLineAndColumn) {
    const auto error = [](const std::string& text) { return thrown([&] { parse_json(text, "m.json"); }); };
    EXPECT_EQ(error("{\n  \"ä\": tru\n}").rfind("[json] m.json:2:", 0), 0u) << error("{\n  \"ä\": tru\n}");
    EXPECT_EQ(error("[1,\n 2,\n ä]").rfind("[json] m.json:3:2: broken JSON", 0), 0u) << error("[1,\n 2,\n ä]");
    EXPECT_EQ(error("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}"), "[json] m.json:3:4: the key \"a\" is there twice");
    for (const char* broken : {"", " ", "{", "[1,]", "{\"a\":1,}", "01", "1 2", "nul", "\"\xff\"", "\"\\ud800\"", "'a'",
                               "NaN", "[1] //", "\"a\nb\"", "1e999", "{1:2}", "\xEF\xBB"}) {
        EXPECT_EQ(error(broken).rfind("[json] m.json:1:", 0), 0u) << broken << " gave " << error(broken);
    }
}

TEST(JsonText, RefusesWhatIsTooLargeOrTooDeep) {
    EXPECT_EQ(thrown([] { parse_json("[1, 2, 3]", "m.json", {.bytes = 8}); }),
              "[json] m.json: 9 B of JSON; at most 8 B are read");
    const auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
    EXPECT_EQ(parse_json(nested(256), "m.json").size(), 1);
    EXPECT_EQ(thrown([&] { parse_json(nested(257), "m.json"); }), "[json] m.json:1:257: nested deeper than 256 levels");
    EXPECT_NE(thrown([] { parse_json(std::string(10000000, '['), "m.json"); }), "");
}

TEST(JsonObject, FindsEveryMemberOfALargeObject) {
    JsonObject object;
    for (int64_t i = 0; i < 5000; ++i) EXPECT_TRUE(object.insert("key" + std::to_string(i), i));
    EXPECT_FALSE(object.insert("key77", 0));
    object.set("key4999", -1);
    EXPECT_EQ(object.size(), 5000);
    for (int64_t i = 0; i < 4999; ++i) ASSERT_EQ(object.find("key" + std::to_string(i))->integer(), i);
    EXPECT_EQ(object.find("key4999")->integer(), -1);
    EXPECT_EQ(object.find("key5000"), nullptr);
    EXPECT_EQ(object.begin()[17].first, "key17");
}

TEST(Json, SaysWhatItExpectedAndWhatItFound) {
    EXPECT_EQ(thrown([] { Json("x").integer(); }), "[json] expected an integer, found the string \"x\"");
    EXPECT_EQ(thrown([] { Json(1.5).string(); }), "[json] expected a string, found the number 1.5");
    EXPECT_EQ(thrown([] { Json(uint64_t{1} << 63); }),
              "[json] 9223372036854775808 does not fit a signed 64-bit integer; write it as a string");
    EXPECT_NE(Json(1), Json(1.0));
}

TEST(JsonReader, ErrorsNameFileAndPath) {
    const Json json =
        parse_json(R"({"format": 3, "tensors": [{"name": "w", "shape": [2, "3"]}], "a.b": {"c": null}})", "t");
    const JsonReader reader(json, "run/manifest.json", "checkpoint");
    const std::string at = "[checkpoint] run/manifest.json: $";
    EXPECT_EQ(reader["tensors"][0]["name"].string(), "w");
    EXPECT_EQ(thrown([&] { reader["tensors"][0]["shape"].integers(); }),
              at + ".tensors[0].shape[1]: expected an integer, found the string \"3\"");
    EXPECT_EQ(thrown([&] { reader["tensor"]; }), at + ": member \"tensor\" is missing; nearest is \"tensors\"");
    EXPECT_EQ(thrown([&] { reader["tensors"][1]; }), at + ".tensors: element 1 is missing, there are 1");
    EXPECT_EQ(thrown([&] { reader["a.b"]["c"].real(); }), at + "[\"a.b\"].c: expected a number, found null");
    EXPECT_EQ(thrown([&] { reader["format"].integer(0, 2); }),
              at + ".format: expected an integer from 0 to 2, found the integer 3");
    EXPECT_EQ(thrown([&] {
                  reader["tensors"][0].only({"name", "shapes"});
              }),
              at + ".tensors[0]: unknown member \"shape\"; nearest is \"shapes\"");
    EXPECT_EQ(
        thrown([&] { reader.format(2); }),
        "[checkpoint] run/manifest.json: format 3 is newer than this program, which reads up to 2; use a newer tenon");
    EXPECT_EQ(reader.format(3), 3);
    EXPECT_FALSE(reader["a.b"].optional("c"));
    EXPECT_FALSE(reader.optional("absent"));
}

}  // namespace tenon::base
