#include "tenon/base/unicode.h"

#include <gtest/gtest.h>

#include "tenon/base/files.h"
#include "tenon/base/json.h"
#include "tests/base/thrown.h"

namespace tenon::base {

namespace {

std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

}  // namespace

TEST(Unicode, EveryCodePointSurvivesARoundTrip) {
    for (char32_t point = 0; point <= 0x10FFFF; ++point) {
        if (point == 0xD800) point = 0xE000;
        const std::string text = encode_utf8(point);
        const CodePoint back = decode_utf8(text, 0);
        ASSERT_EQ(back.value, point);
        ASSERT_EQ(back.bytes, static_cast<int>(text.size()));
        ASSERT_EQ(text.size(), point < 0x80 ? 1u : point < 0x800 ? 2u : point < 0x10000 ? 3u : 4u);
        ASSERT_TRUE(is_utf8(text));
    }
    EXPECT_NE(tests::thrown([] { encode_utf8(0xD800); }), "");
    EXPECT_NE(tests::thrown([] { encode_utf8(0x110000); }), "");
}

// Python's decoder on the same bytes: tests/golden/make/utf8.py.
TEST(Unicode, JudgesBytesAsPythonDoes) {
    const std::string path = std::string(TENON_GOLDEN_DIR) + "/utf8.json";
    const Json cases = parse_json(read_file(path), path);
    ASSERT_GT(cases.size(), 500);
    for (const Json& c : cases.array_value()) {
        const std::string bytes = from_hex(c.at("bytes").string());
        EXPECT_EQ(first_invalid_utf8(bytes), c.at("first_invalid").integer()) << c.dump();
        EXPECT_EQ(replace_invalid_utf8(bytes), c.at("replaced").string()) << c.dump();
        EXPECT_EQ(complete_utf8_prefix(bytes), c.at("complete_prefix").integer()) << c.dump();
    }
}

TEST(Unicode, CutsAtCharacters) {
    const std::string text = "aä€😀";  // 1 + 2 + 3 + 4 bytes
    const int64_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (int64_t offset = 0; offset < 12; ++offset)
        EXPECT_EQ(character_boundary_before(text, offset), expected[offset]);
    EXPECT_EQ(character_boundary_before("\x80\x80\x80\x80\x80\x80", 5), 2);
    EXPECT_EQ(count_characters(text), 4);
}

}  // namespace tenon::base
