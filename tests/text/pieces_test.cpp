#include "tenon/text/pieces.h"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/unicode.h"
#include "tenon/text/alphabet.h"
#include "tests/text/golden.h"

namespace tenon::text {

namespace {

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> all;
    Pieces pieces(text);
    for (std::string_view piece; pieces.next(piece);) all.emplace_back(piece);
    return all;
}

using Split = std::vector<std::string>;

// 'L' letter, 'N' number, 'O' other sign, 'S' white space: whichever neighbour the character joins.
char class_of(const std::string& character) {
    if (split("a" + character).size() == 1) return 'L';
    if (split("1" + character).size() == 1) return 'N';
    if (split("!" + character).size() == 1) return 'O';
    return 'S';
}

}  // namespace

TEST(Pieces, FollowThePattern) {
    EXPECT_EQ(split(""), Split{});
    EXPECT_EQ(split("I'm sure they'll've"), (Split{"I", "'m", " sure", " they", "'ll", "'ve"}));
    EXPECT_EQ(split("'S 'twas"), (Split{"'", "S", " '", "twas"}));
    EXPECT_EQ(split("a  b"), (Split{"a", " ", " b"}));
    EXPECT_EQ(split("a \n\n b\n"), (Split{"a", " \n\n", " b", "\n"}));
    EXPECT_EQ(split("\n\nb"), (Split{"\n", "\n", "b"}));
    EXPECT_EQ(split("x1=2.50;  "), (Split{"x", "1", "=", "2", ".", "50", ";", "  "}));
    EXPECT_EQ(split("naïve 日本語 ٣٤ 😀👍"), (Split{"naïve", " 日本語", " ٣٤", " 😀👍"}));
    EXPECT_EQ(split(std::string("\0\0 \0", 4)), (Split{std::string("\0\0", 2), std::string(" \0", 2)}));
}

// All 1,112,064 code points, against the classes that `tokenizers` gives them.
TEST(Pieces, EveryCodePointHasTheClassThatTokenizersGivesIt) {
    std::istringstream lines(base::read_file(golden_path("classes.txt")));
    std::string first, last, kind;
    int64_t seen = 0;
    while (lines >> first >> last >> kind) {
        auto end = static_cast<char32_t>(std::stoul(last, nullptr, 16));
        for (auto c = static_cast<char32_t>(std::stoul(first, nullptr, 16)); c <= end; ++c, ++seen)
            ASSERT_EQ(class_of(base::encode_utf8(c)), kind[0])
                << "U+" << std::hex << static_cast<uint32_t>(c) << " with " << pattern_engine();
    }
    EXPECT_EQ(seen, 0x110000 - 0x800);
}

TEST(Pieces, ARunOfMillionsOfOneCharacterTakesLinearTimeAndOnePiece) {
    struct Case {
        const char* unit;
        size_t before_a_sign;  // pieces of the run followed by "("
    };
    // Of white space the last character stays apart, a space joins what follows.
    for (Case c : {Case{" ", 2}, Case{"\n", 3}, Case{"\u3000", 3}, Case{"a", 2}, Case{"é", 2}, Case{"語", 2},
                   Case{"7", 2}, Case{"!", 1}, Case{"😀", 1}}) {
        std::string run;
        while (run.size() < 6'000'000) run += c.unit;
        auto start = std::chrono::steady_clock::now();
        EXPECT_EQ(split(run).size(), 1u) << c.unit;
        EXPECT_EQ(split(run + "(").size(), c.before_a_sign) << c.unit;
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << c.unit;
    }
}

TEST(Pieces, InvalidUtf8IsAnErrorThatNamesTheOffset) {
    struct Case {
        std::string text;
        const char* says;
    };
    for (const Case& c :
         {Case{"abc\xff", "byte 0xff at offset 3"}, Case{"\x80", "byte 0x80 at offset 0"},
          Case{"ok \xc3", "byte 0xc3 at offset 3"}, Case{"é\xed\xa0\x80", "byte 0xed at offset 2"},
          Case{"\xc0\xaf", "byte 0xc0 at offset 0"}, Case{"a\xf4\x90\x80\x80", "byte 0xf4 at offset 1"}}) {
        try {
            Pieces pieces(c.text);
            FAIL() << c.says;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::file);
            EXPECT_NE(std::string(error.what()).find(c.says), std::string::npos) << error.what();
        }
    }
}

TEST(Alphabet, SpellsEveryByteAndReadsItBack) {
    std::string all;
    for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
    std::string spelled = spell_bytes(all);
    EXPECT_EQ(base::count_characters(spelled), 256);
    EXPECT_EQ(read_bytes(spelled), all);
    EXPECT_EQ(spell_bytes(" the\n\x7f\xad"), "ĠtheĊġŃ");
    EXPECT_EQ(read_bytes("Ġ語"), std::nullopt);
    EXPECT_EQ(read_bytes(" "), std::nullopt);
    EXPECT_EQ(read_bytes("\xff"), std::nullopt);
}

}  // namespace tenon::text
