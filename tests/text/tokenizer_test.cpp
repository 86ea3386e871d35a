#include "tenon/text/tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <thread>

#include "tenon/base/error.h"
#include "tenon/base/unicode.h"
#include "tenon/text/trainer.h"
#include "tests/text/golden.h"

namespace tenon::text {

namespace {

class EncodesLikeTokenizers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tokenizer, EncodesLikeTokenizers, testing::Values("mixed", "runs", "genesis"),
                         [](const auto& name) { return std::string(name.param); });

Tokenizer load_golden(const std::string& name) {
    return Tokenizer::load(golden_path(name + ".tokenizer.json"));
}

// Any text: mostly what the vocabulary knows, some of every other plane.
rc::Gen<std::string> any_text() {
    auto character = rc::gen::weightedOneOf<char32_t>(
        {{6, rc::gen::cast<char32_t>(rc::gen::inRange(0x20, 0x7f))},
         {2, rc::gen::element<char32_t>(U' ', U'\n', U'\t', U'\'', U'é', U'😀', U'\u3000')},
         {1, rc::gen::cast<char32_t>(rc::gen::inRange(0, 0xd800))},
         {1, rc::gen::cast<char32_t>(rc::gen::inRange(0xe000, 0x110000))}});
    return rc::gen::map(rc::gen::container<std::vector<char32_t>>(character), [](const std::vector<char32_t>& all) {
        std::string text;
        for (char32_t c : all) base::append_utf8(text, c);
        return text;
    });
}

// Encoding from the definition: in each piece find the lowest-ranked merge, apply it at the leftmost place, repeat.
std::vector<Token> encode_plainly(const Tokenizer& tokenizer, std::string_view piece) {
    const Vocabulary& v = tokenizer.vocabulary();
    std::vector<std::string> symbols;
    for (char b : piece) symbols.emplace_back(1, b);
    for (bool merged = true; merged;) {
        merged = false;
        for (size_t r = 0; r < v.merges.size() && !merged; ++r)
            for (size_t i = 0; i + 1 < symbols.size() && !merged; ++i)
                if (symbols[i] == tokenizer.bytes(v.merges[r].first) &&
                    symbols[i + 1] == tokenizer.bytes(v.merges[r].second)) {
                    symbols[i] += symbols[i + 1];
                    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(i) + 1);
                    merged = true;
                }
    }
    std::vector<Token> ids;
    for (const std::string& s : symbols)
        for (Token id = 0; id < tokenizer.size(); ++id)
            if (!tokenizer.is_special(id) && tokenizer.bytes(id) == s) ids.push_back(id);
    return ids;
}

}  // namespace

TEST_P(EncodesLikeTokenizers, EveryGoldenText) {
    Golden golden(GetParam());
    Tokenizer tokenizer = load_golden(GetParam());
    for (const base::Json& c : golden.json.at("encodings").array_value()) {
        const std::string& text = c.at("text").string();
        EXPECT_EQ(tokenizer.encode(text), golden_ids(c.at("ids"))) << text;
        std::vector<Token> ids = tokenizer.encode(text, SpecialInput::as_token);
        EXPECT_EQ(ids, golden_ids(c.at("ids_special"))) << text;
        EXPECT_EQ(tokenizer.decode(ids, SpecialOutput::skip), c.at("decoded").string());
        EXPECT_EQ(tokenizer.decode(ids), text);
    }
    EXPECT_EQ(tokenizer.encode(golden.text), golden_ids(golden.json.at("whole")));
}

TEST_P(EncodesLikeTokenizers, AndDecodesIdsThatEndWithinACharacter) {
    Golden golden(GetParam());
    Tokenizer tokenizer = load_golden(GetParam());
    for (const base::Json& c : golden.json.at("decodings").array_value())
        EXPECT_EQ(tokenizer.decode(golden_ids(c.at("ids"))), c.at("text").string());
}

RC_GTEST_PROP(Tokenizer, DecodingUndoesEncoding, ()) {
    static const Tokenizer tokenizer = load_golden("mixed");
    std::string text = *any_text();
    RC_ASSERT(tokenizer.decode(tokenizer.encode(text)) == text);
    RC_ASSERT(tokenizer.decode(tokenizer.encode(text, SpecialInput::as_token)) == text);
}

RC_GTEST_PROP(Tokenizer, LongPiecesMergeAsTheDefinitionSays, ()) {
    static const Tokenizer tokenizer = load_golden("runs");
    auto length = *rc::gen::inRange<size_t>(1, 120);  // both sides of the limit between the two ways to merge
    std::string piece = *rc::gen::container<std::string>(length, rc::gen::element('a', 'b'));
    RC_ASSERT(tokenizer.encode(piece) == encode_plainly(tokenizer, piece));
}

RC_GTEST_PROP(TextStream, GivesWholeCharactersAndAltogetherWhatDecodeGives, ()) {
    static const Tokenizer tokenizer = load_golden("mixed");
    auto ids =
        *rc::gen::container<std::vector<Token>>(rc::gen::inRange<Token>(0, static_cast<Token>(tokenizer.size())));
    for (SpecialOutput specials : {SpecialOutput::keep, SpecialOutput::skip}) {
        TextStream stream(tokenizer, specials);
        std::string text;
        for (Token id : ids) {
            std::string part = stream.push(id);
            RC_ASSERT(base::is_utf8(part));
            text += part;
        }
        text += stream.finish();
        RC_ASSERT(text == tokenizer.decode(ids, specials));
    }
}

TEST(TextStream, ShowsACharacterWhenItsLastByteArrives) {
    Tokenizer tokenizer = train_tokenizer("", {256, {}, nullptr});
    std::vector<Token> ids = tokenizer.encode("a😀b");
    ASSERT_EQ(ids.size(), 6u);
    TextStream stream(tokenizer);
    std::vector<std::string> parts;
    for (Token id : ids) parts.push_back(stream.push(id));
    EXPECT_EQ(parts, (std::vector<std::string>{"a", "", "", "", "😀", "b"}));
    stream.push(ids[1]);
    EXPECT_EQ(stream.finish(), "\ufffd");
    EXPECT_EQ(stream.finish(), "");
}

TEST(Tokenizer, SpecialsInTextAreTextUnlessAskedFor) {
    Tokenizer tokenizer = train_tokenizer("a b", {260, {"<|end|>", "<|end|>x", "<|e"}, nullptr});
    EXPECT_EQ(tokenizer.special("<|end|>"), 0);
    EXPECT_EQ(tokenizer.special("<|none|>"), std::nullopt);
    for (Token id : tokenizer.encode("<|end|>")) EXPECT_FALSE(tokenizer.is_special(id));
    // The leftmost, of those the longest.
    EXPECT_EQ(tokenizer.encode("<|end|><|end|>x<|ex", SpecialInput::as_token),
              (std::vector<Token>{0, 1, 2, tokenizer.encode("x")[0]}));
}

TEST(Tokenizer, AnIdOutsideTheVocabularyIsAnError) {
    Tokenizer tokenizer = load_golden("genesis");
    for (Token id : {-1, 512}) {
        EXPECT_THROW(tokenizer.decode(std::vector<Token>{0, id}), Error);
        EXPECT_THROW(TextStream(tokenizer).push(id), Error);
    }
}

TEST(Tokenizer, InvalidUtf8IsAnErrorThatNamesTheOffset) {
    Tokenizer tokenizer = load_golden("genesis");
    try {
        tokenizer.encode("In the\xe2\x82", SpecialInput::as_token);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::file);
        EXPECT_NE(std::string(error.what()).find("offset 6"), std::string::npos) << error.what();
    }
}

TEST(Tokenizer, OnePieceOfMillionsOfBytesTakesNoQuadraticTime) {
    Tokenizer tokenizer = load_golden("runs");
    std::string run(2'000'000, 'a');
    for (size_t i = 0; i < run.size(); i += 7) run[i] = 'b';
    auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(run)), run);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(Tokenizer, MorePiecesThanItRemembersEncodeAlike) {
    Tokenizer tokenizer = load_golden("genesis");
    std::string text;
    std::vector<Token> apart;
    for (int i = 0; i < 150'000; ++i) {  // each of 75,000 numbers twice: past the limit of 65,536
        std::string piece = " " + std::to_string(i % 75'000);
        text += piece;
        for (Token id : tokenizer.encode(piece)) apart.push_back(id);
    }
    EXPECT_EQ(tokenizer.encode(text), apart);
}

TEST(Tokenizer, OneServesManyThreads) {
    const Tokenizer tokenizer = load_golden("mixed");
    Golden golden("mixed");
    std::vector<Token> expected = tokenizer.encode(golden.text);
    std::vector<std::vector<Token>> got(4);
    std::vector<std::thread> threads;
    for (auto& ids : got) threads.emplace_back([&] { ids = tokenizer.encode(golden.text); });
    for (std::thread& thread : threads) thread.join();
    for (const auto& ids : got) EXPECT_EQ(ids, expected);
}

}  // namespace tenon::text
