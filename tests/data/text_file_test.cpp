#include "tenon/data/text_file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/sha256.h"
#include "tenon/base/unicode.h"

namespace tenon::data {

namespace {

struct Written {
    std::string path = testing::TempDir() + "/tenon-text-file-test.txt";
    explicit Written(std::string_view text) { base::write_file_atomically(path, text); }
    ~Written() { base::remove_file(path); }
};

std::string error_of(const std::string& path, double held_out, Code code) {
    try {
        TextFile file(path, held_out);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code);
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST(TextFile, HoldsOutTheLastTenthOfTheBytes) {
    Written written(std::string(90, 'a') + std::string(10, 'b'));
    TextFile file(written.path, 0.1);
    EXPECT_EQ(file.train(), std::string(90, 'a'));
    EXPECT_EQ(file.held_out(), std::string(10, 'b'));
    EXPECT_EQ(file.digest(), base::sha256_hex(file.text()));
    // The Bible's length, whose nine tenths are exact.
    EXPECT_EQ(held_out_begin(std::string(4'137'850, 'x'), 0.1), 3'724'065);
}

TEST(TextFile, CutsNoCharacter) {
    for (std::string unit : {"é", "語", "😀"}) {
        std::string text;
        for (int i = 0; i < 37; ++i) text += unit;
        for (double share : {0.01, 0.1, 0.25, 0.5, 0.9}) {
            auto cut = held_out_begin(text, share);
            EXPECT_EQ(cut % static_cast<int64_t>(unit.size()), 0);
            double asked = (1 - share) * static_cast<double>(text.size());
            EXPECT_NEAR(static_cast<double>(cut), asked, 4.0);
        }
    }
}

RC_GTEST_PROP(TextFile, BothPartsTogetherAreTheText, ()) {
    std::string text;
    for (char32_t c : *rc::gen::container<std::vector<char32_t>>(rc::gen::cast<char32_t>(rc::gen::inRange(1, 0xd800))))
        base::append_utf8(text, c);
    auto cut = static_cast<size_t>(held_out_begin(text, *rc::gen::inRange(0, 1000) / 1000.0));
    RC_ASSERT(cut <= text.size());
    RC_ASSERT(base::is_utf8(text.substr(0, cut)) && base::is_utf8(text.substr(cut)));
}

TEST(TextFile, NothingHeldOutIsAllowed) {
    Written written("abc");
    TextFile file(written.path, 0);
    EXPECT_EQ(file.train(), "abc");
    EXPECT_EQ(file.held_out(), "");
}

TEST(TextFile, SaysWhatIsWrongWithAFile) {
    EXPECT_NE(error_of("/no/such/file", 0.1, Code::file).find("/no/such/file"), std::string::npos);
    {
        Written empty("");
        EXPECT_NE(error_of(empty.path, 0.1, Code::file).find(empty.path + ": the file is empty"), std::string::npos);
    }
    {
        Written latin("caf\xe9 noir");
        EXPECT_NE(error_of(latin.path, 0.1, Code::file).find(latin.path + ": not UTF-8: byte 0xe9 at offset 3"),
                  std::string::npos);
    }
    Written tiny("ab");
    EXPECT_NE(error_of(tiny.path, 0.1, Code::file).find("its 2 bytes are too few"), std::string::npos);
    EXPECT_NE(error_of(tiny.path, 0.9, Code::file).find("its 2 bytes are too few"), std::string::npos);
    EXPECT_EQ(error_of(tiny.path, 0.5, Code::file), "no error");
    for (double share : {-0.1, 1.0, 2.0, 0.0 / 0.0})
        EXPECT_NE(error_of(tiny.path, share, Code::usage).find("held_out must be"), std::string::npos);
}

}  // namespace tenon::data
