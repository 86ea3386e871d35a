#include "tenon/text/trainer.h"

#include <gtest/gtest.h>

#include "tenon/base/error.h"
#include "tenon/text/alphabet.h"
#include "tests/text/golden.h"

namespace tenon::text {

namespace {

class LikeTokenizers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Trainer, LikeTokenizers, testing::Values("mixed", "runs", "genesis"),
                         [](const auto& name) { return std::string(name.param); });

std::string error_of(std::string_view text, const TrainerOptions& options, Code code) {
    try {
        train_tokenizer(text, options);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_P(LikeTokenizers, LearnsTheSameMergesAndIds) {
    Golden golden(GetParam());
    Tokenizer learned =
        train_tokenizer(golden.text, {golden.json.at("vocab_size").integer(), golden.specials, nullptr});
    const Vocabulary& vocabulary = learned.vocabulary();
    const auto& tokens = golden.json.at("tokens").array_value();
    const auto& merges = golden.json.at("merges").array_value();
    ASSERT_EQ(vocabulary.merges.size(), merges.size());
    auto spelled = [&](Token id) {
        const std::string& bytes = vocabulary.tokens[static_cast<size_t>(id)];
        return learned.is_special(id) ? bytes : spell_bytes(bytes);
    };
    for (size_t i = 0; i < merges.size(); ++i) {
        EXPECT_EQ(spelled(vocabulary.merges[i].first), merges[i].at(0).string()) << "merge " << i;
        EXPECT_EQ(spelled(vocabulary.merges[i].second), merges[i].at(1).string()) << "merge " << i;
    }
    ASSERT_EQ(learned.size(), static_cast<int64_t>(tokens.size()));
    for (size_t id = 0; id < tokens.size(); ++id)
        EXPECT_EQ(spelled(static_cast<Token>(id)), tokens[id].string()) << "id " << id;
}

TEST_P(LikeTokenizers, WritesTheSameFile) {
    Golden golden(GetParam());
    Tokenizer learned =
        train_tokenizer(golden.text, {golden.json.at("vocab_size").integer(), golden.specials, nullptr});
    EXPECT_EQ(base::parse_json(learned.to_json(), "learned"), golden.file);
}

TEST(Trainer, TakesTheHighestCountAndOfEqualsTheLowestIds) {
    Tokenizer t = train_tokenizer("ab ab ab ce ce cd cd", {256 + 5, {}, nullptr});
    std::vector<std::string> learned(t.vocabulary().tokens.begin() + 256, t.vocabulary().tokens.end());
    // (' ', c) stands 4 times and (a, b) 3; then twice each, by ids: (b), (' ' is above the letters), (' c', d), (' c',
    // e).
    EXPECT_EQ(learned, (std::vector<std::string>{" c", "ab", " ab", " cd", " ce"}));
}

TEST(Trainer, AVocabularyBeyondTheTextIsAnErrorThatSaysWhatItAllows) {
    std::string what = error_of("abc", {2048, {"<|end|>"}, nullptr}, Code::file);
    EXPECT_NE(what.find("3 bytes"), std::string::npos) << what;
    EXPECT_NE(what.find("at most 259 tokens; 2048 were asked for"), std::string::npos) << what;
    EXPECT_EQ(train_tokenizer("abc", {259, {"<|end|>"}, nullptr}).size(), 259);
    EXPECT_NE(error_of("", {257, {}, nullptr}, Code::file).find("at most 256 tokens"), std::string::npos);
    EXPECT_EQ(train_tokenizer("", {256, {}, nullptr}).size(), 256);
}

TEST(Trainer, RefusesOptionsThatCannotBe) {
    struct Case {
        TrainerOptions options;
        const char* says;
    };
    for (const Case& c :
         {Case{{255, {}, nullptr}, "at least 256"}, Case{{256, {"<|a|>"}, nullptr}, "at least 257"},
          Case{{-1, {}, nullptr}, "vocab_size is -1"}, Case{{300, {""}, nullptr}, "is empty"},
          Case{{300, {"x\xff"}, nullptr}, "not UTF-8"},
          Case{{300, {"<|a|>", "<|a|>"}, nullptr}, "\"<|a|>\" is given twice"},
          Case{{300, {"e"}, nullptr}, "\"e\" is also an ordinary token"}, Case{{258, {"the"}, nullptr}, "no error"},
          Case{{259, {"the"}, nullptr}, "\"the\" is also an ordinary token"}}) {
        try {
            train_tokenizer("the the,the", c.options);
            EXPECT_STREQ(c.says, "no error");
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::usage);
            EXPECT_NE(std::string(error.what()).find(c.says), std::string::npos) << error.what();
        }
    }
}

TEST(Trainer, NamesTheOffsetOfInvalidUtf8) {
    EXPECT_NE(error_of("ab\xfe", {256, {}, nullptr}, Code::file).find("offset 2"), std::string::npos);
}

TEST(Trainer, ReportsProgressUpToTheEnd) {
    int64_t calls = 0, last = 0;
    Golden golden("genesis");
    train_tokenizer(golden.text, {400, {}, [&](int64_t done, int64_t all) {
                                      EXPECT_EQ(all, 144);
                                      EXPECT_GT(done, last);
                                      last = done;
                                      ++calls;
                                  }});
    EXPECT_EQ(last, 144);
    EXPECT_GE(calls, 2);
}

}  // namespace tenon::text
