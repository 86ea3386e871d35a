#include "tenon/base/toml.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/base/thrown.h"

namespace tenon::base {

using tests::thrown;

constexpr const char* example = R"(# a comment
title = "ä"

[optim]
learning_rate = 3e-4   # line 5
betas = [0.9, 0.95]
decay = { weight = 1, "odd key" = true }

[data]
files = ["a", "b"]
day = 2024-02-29
[data.nested]
x = 0x10

[[stage]]
n = 1
[[stage]]
n = 2
)";

TEST(Toml, EveryValueKnowsItsPlaceAndKey) {
    const TomlTable config = parse_toml(example, "c.toml");
    const TomlValue* rate = config.section("optim").find("learning_rate");
    ASSERT_NE(rate, nullptr);
    EXPECT_EQ(rate->real(), 3e-4);
    EXPECT_EQ(rate->place().text(), "c.toml:5");
    EXPECT_EQ(rate->path(), "optim.learning_rate");
    EXPECT_EQ(config.section("data").find("files")->array()[1].path(), "data.files[1]");
    const TomlTable& data = config.section("data");
    EXPECT_EQ(data.section("nested").find("x")->integer(), 16);
    EXPECT_EQ(data.section("nested").find("x")->place().line, 13);
    EXPECT_EQ(data.find("day")->string(), "2024-02-29");
    EXPECT_TRUE(data.find("day")->is(TomlValue::Kind::date_time));
    EXPECT_EQ(config.find("stage")->array()[1].table().find("n")->place().line, 18);
    EXPECT_EQ(config.find("stage")->array()[1].table().find("n")->path(), "stage[1].n");
    EXPECT_EQ(config.section("optim").find("nothing"), nullptr);
    EXPECT_EQ(config.section("nothing").size(), 0);
}

TEST(Toml, KeepsTheOrderOfTheSource) {
    EXPECT_EQ(parse_toml(example, "c.toml").json().dump(),
              R"({"title":"ä","optim":{"learning_rate":0.0003,"betas":[0.9,0.95],"decay":{"weight":1,"odd key":true}},)"
              R"("data":{"files":["a","b"],"day":"2024-02-29","nested":{"x":16}},"stage":[{"n":1},{"n":2}]})");
}

TEST(Toml, WrongTypesNameThePlaceTheKeyAndWhatIsThere) {
    const TomlTable config = parse_toml("[a]\nb = \"x\"\nc = 7\nd = [1, 2.5]\n", "c.toml");
    const TomlTable& a = config.section("a");
    EXPECT_EQ(thrown([&] { a.find("b")->integer(); }),
              "[config] c.toml:2: a.b must be an integer, found the string \"x\"");
    EXPECT_EQ(thrown([&] { a.find("c")->boolean(); }),
              "[config] c.toml:3: a.c must be true or false, found the integer 7");
    EXPECT_EQ(thrown([&] { a.find("c")->integer(0, 6); }),
              "[config] c.toml:3: a.c must be an integer from 0 to 6, found the integer 7");
    EXPECT_EQ(thrown([&] { a.find("d")->array()[1].integer(); }),
              "[config] c.toml:4: a.d[1] must be an integer, found the number 2.5");
    EXPECT_EQ(thrown([&] { a.section("c"); }), "[config] c.toml:3: a.c must be a table, found the integer 7");
    EXPECT_EQ(a.find("c")->real(), 7.0);
    EXPECT_EQ(a.find("d")->array()[1].real(), 2.5);
}

TEST(Toml, UnknownKeysNameTheNearest) {
    const TomlTable config = parse_toml("[optim]\nlearning_rat = 1\n", "c.toml");
    EXPECT_EQ(thrown([&] {
                  config.section("optim").only({"betas", "learning_rate"});
              }),
              "[config] c.toml:2: unknown key \"learning_rat\" in [optim]; nearest is \"learning_rate\"");
    EXPECT_EQ(thrown([&] { config.only({"data"}); }), "[config] c.toml:1: unknown key \"optim\"; known are \"data\"");
    config.only({"optim"});
}

TEST(Toml, BrokenTextNamesTheLine) {
    const struct {
        const char* text;
        int line;
    } cases[] = {
        {"a = 1\nb = \n", 2},
        {"a = 1\na = 2\n", 2},
        {"a = 'x\n", 1},
        {"[t]\n[t]\n", 2},
        {"a = 01\n", 1},
        {"\n\na = [1, 2\n", 3},
        {"a 1\n", 1},
        {"a = \"\\q\"\n", 1},
        {"a = 1\nb = \"\xff\"\n", 2},
        {"a = 99999999999999999999", 1},
        {"[a]\nb.c = 1\n[a.b]\n", 3},
        {"a = {b = 1,}\n", 1},
    };
    for (const auto& c : cases) {
        const std::string start = "[config] c.toml:" + std::to_string(c.line) + ": broken TOML";
        const std::string message = thrown([&] { parse_toml(c.text, "c.toml"); });
        EXPECT_EQ(message.rfind(start, 0), 0u) << c.text << "gave " << message;
    }
}

static std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

TEST(Toml, TooDeepNestingIsAnErrorHoweverItIsWritten) {
    const std::string dotted = "a" + repeated(".a", 200000), shorter = "a" + repeated(".a", 100);
    const std::string quoted = "a" + repeated(" . \"a\"", 200000);
    const std::string message = "[config] c.toml:2: tables and arrays are nested deeper than 128 levels";
    for (const std::string& text :
         {dotted + " = 1", "[" + dotted + "]", quoted + " = 1", "a = " + repeated("[", 100000) + repeated("]", 100000),
          "a = " + repeated("{" + shorter + " = ", 100) + "1" + repeated("}", 100), "a = " + repeated("[", 200)}) {
        EXPECT_EQ(thrown([&] { parse_toml("\n" + text, "c.toml"); }), message);
    }
    EXPECT_EQ(thrown([&] { parse_override(shorter + "." + shorter + "=1"); }),
              "[config] --set: tables and arrays are nested deeper than 128 levels");
}

TEST(Toml, DotsAndBracketsInStringsAndListsAreNoDepth) {
    const std::string many = repeated(".[{", 300);
    const TomlTable config = parse_toml("a = \"" + many + "\\\"" + many + "\"\nb = '" + many + "'\nc = \"\"\"\n" +
                                            many + "\"\"\n" + many + "\"\"\"\"\"\nd = '''" + many + "'''\ne = [" +
                                            repeated("1.5,\n", 300) + "] # " + many + "\nf = 1\n",
                                        "c.toml");
    EXPECT_EQ(config.find("a")->string(), many + "\"" + many);
    EXPECT_EQ(config.find("c")->string(), many + "\"\"\n" + many + "\"\"");
    EXPECT_EQ(config.find("e")->array().size(), 300u);
    EXPECT_EQ(config.find("f")->integer(), 1);
    EXPECT_EQ(config.find("f")->place().line, 308);
}

TEST(Toml, OnlyStringsAndCommentsMayHoldOtherThanAscii) {
    const TomlTable config = parse_toml("\xEF\xBB\xBF# ä\n\"ä\" = 'ä'\nb = \"\"\"\\\n  ä\u00A0\"\"\"\n", "c.toml");
    EXPECT_EQ(config.find("ä")->string(), "ä");
    EXPECT_EQ(config.find("b")->string(), "ä\u00A0");
    EXPECT_EQ(thrown([] { parse_toml("a = 1\nb =\u00A01\n", "c.toml"); }),
              "[config] c.toml:2: broken TOML: the character U+00A0 stands outside a string; TOML has only ASCII there "
              "(put it "
              "in quotes)");
    for (const char* bad : {"ä = 1", "a = ä", "a = \"x\" ä", "[ä]", "a = 1 \u2028", "a = 'x\nä = 1"}) {
        EXPECT_EQ(thrown([&] { parse_toml(bad, "c.toml"); }).rfind("[config] c.toml:1: broken TOML", 0), 0u) << bad;
    }
}

TEST(TomlOverride, TakesTomlValuesAndPlainStrings) {
    const auto json = [](const char* text) { return parse_override(text).value.json().dump(); };
    EXPECT_EQ(json("a=1"), "1");
    EXPECT_EQ(json("a = 1e-3"), "0.001");
    EXPECT_EQ(json("a=true"), "true");
    EXPECT_EQ(json("a=\"x=y # z\""), "\"x=y # z\"");
    EXPECT_EQ(json("a=[1, [2, \"x\"]]"), "[1,[2,\"x\"]]");
    EXPECT_EQ(json("a={b = 1}"), "{\"b\":1}");
    EXPECT_EQ(json("a=my file.txt"), "\"my file.txt\"");
    EXPECT_EQ(json("a=/data/x=y.txt"), "\"/data/x=y.txt\"");
    EXPECT_EQ(json("a=1 # x"), "\"1 # x\"");
    EXPECT_EQ(json("a=1\nb=2"), "\"1\\nb=2\"");
    EXPECT_EQ(json("a=.5"), "\".5\"");
    EXPECT_EQ(json("a=ä"), "\"ä\"");
    EXPECT_EQ(json("a=\"ä\""), "\"ä\"");
    const TomlOverride override = parse_override("optim.\"odd.key\".x=1");
    EXPECT_EQ(override.keys, (std::vector<std::string>{"optim", "odd.key", "x"}));
    EXPECT_EQ(override.value.place().text(), "--set");
}

TEST(TomlOverride, RefusesWhatIsNoAssignment) {
    EXPECT_EQ(thrown([] { parse_override("a.b"); }), "[config] --set: \"a.b\" has no value; write --set a.b=VALUE");
    EXPECT_EQ(thrown([] { parse_override("a="); }), "[config] --set: a has no value; an empty string is \"\"");
    for (const char* bad : {"=1", "a..b=1", ".a=1", "a b=1", "", "a\n=1", "#=1", "a.=1", "[a]\nb=1"}) {
        EXPECT_NE(thrown([&] { parse_override(bad); }).find("is not KEY=VALUE"), std::string::npos) << bad;
    }
    for (const char* bad : {"a=[1", "a=\"x", "a={b", "a='"}) {
        EXPECT_EQ(thrown([&] { parse_override(bad); }).rfind("[config] --set: a is not a TOML value", 0), 0u) << bad;
    }
}

TEST(TomlOverride, ReplacesAndAddsInATree) {
    TomlTable config = parse_toml("[optim]\nrate = 1\n", "c.toml");
    for (const char* text : {"optim.rate=2", "data.path=x.txt", "optim.betas=[0.9]"}) {
        TomlOverride override = parse_override(text);
        config.set(override.keys, override.value);
    }
    EXPECT_EQ(config.json().dump(), R"({"optim":{"rate":2,"betas":[0.9]},"data":{"path":"x.txt"}})");
    EXPECT_EQ(config.section("optim").find("rate")->place().text(), "--set");
    EXPECT_EQ(config.find("optim")->place().text(), "c.toml:1");
    EXPECT_EQ(thrown([&] {
                  config.set({"optim", "rate", "x"}, parse_override("optim.rate.x=1").value);
              }),
              "[config] --set: optim.rate.x cannot be set: optim.rate is an integer (--set), not a table");
}

}  // namespace tenon::base
