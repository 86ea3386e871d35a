#include "tenon/data/token_windows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "tenon/base/error.h"
#include "tenon/base/sha256.h"
#include "tenon/text/trainer.h"

namespace tenon::data {

namespace {

const text::Tokenizer& tokenizer() {
    static const text::Tokenizer learned = text::train_tokenizer("the cat and the hat and the bat", {262, {}, nullptr});
    return learned;
}

struct Sample {
    std::vector<int64_t> inputs, targets;
};
Sample read(const Source& source, int64_t i) {
    auto length = static_cast<size_t>(source.length());
    Sample sample{std::vector<int64_t>(length, -7), std::vector<int64_t>(length, -7)};
    source.read(i, sample.inputs, sample.targets);
    return sample;
}

template <class Source>
std::string error_of(std::string_view text, int64_t length, Code code) {
    try {
        Source source(text, tokenizer(), length);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code);
        return error.what();
    }
    return "no error";
}

}  // namespace

RC_GTEST_PROP(TextSource, SampleIIsTokensFromITToIPlusOneT, ()) {
    auto text = *rc::gen::container<std::string>(rc::gen::element('t', 'h', 'e', ' ', 'a'));
    std::vector<text::Token> tokens = tokenizer().encode(text);
    RC_PRE(tokens.size() > 1);
    auto length = *rc::gen::inRange<int64_t>(1, static_cast<int64_t>(tokens.size()));
    TextSource source(text, tokenizer(), length);
    RC_ASSERT(source.samples() == (static_cast<int64_t>(tokens.size()) - 1) / length);
    for (int64_t i = 0; i < source.samples(); ++i) {
        Sample sample = read(source, i);
        for (int64_t t = 0; t < length; ++t) {
            RC_ASSERT(sample.inputs[static_cast<size_t>(t)] == tokens[static_cast<size_t>(i * length + t)]);
            RC_ASSERT(sample.targets[static_cast<size_t>(t)] == tokens[static_cast<size_t>(i * length + t + 1)]);
        }
    }
}

RC_GTEST_PROP(HeldOut, PredictsEveryTokenButTheFirstExactlyOnce, ()) {
    auto text = *rc::gen::container<std::string>(rc::gen::element('t', 'h', 'e', ' ', 'a'));
    std::vector<text::Token> tokens = tokenizer().encode(text);
    RC_PRE(tokens.size() > 1);
    HeldOut held_out(text, tokenizer(), *rc::gen::inRange<int64_t>(1, 40));
    std::vector<int64_t> predicted;
    for (int64_t i = 0; i < held_out.samples(); ++i) {
        Sample sample = read(held_out, i);
        for (size_t t = 0; t < sample.targets.size(); ++t) {
            if (sample.targets[t] == ignored_target) {
                RC_ASSERT(i + 1 == held_out.samples() && t > 0);
                RC_ASSERT(sample.inputs[t] == 0);
                continue;
            }
            RC_ASSERT(sample.inputs[t] == tokens[predicted.size()]);  // the token before it
            predicted.push_back(sample.targets[t]);
        }
    }
    RC_ASSERT(predicted == std::vector<int64_t>(tokens.begin() + 1, tokens.end()));
    RC_ASSERT(held_out.predictions() == static_cast<int64_t>(predicted.size()));
    int64_t bytes = 0;
    for (int64_t id : predicted) bytes += static_cast<int64_t>(tokenizer().bytes(static_cast<text::Token>(id)).size());
    RC_ASSERT(held_out.bytes() == bytes);
}

TEST(HeldOut, BitsPerByteAreNatsOverLn2TimesBytes) {
    HeldOut held_out("the cat", tokenizer(), 4);
    double nats = 12.5;
    EXPECT_DOUBLE_EQ(held_out.bits_per_byte(nats), nats / (std::log(2.0) * static_cast<double>(held_out.bytes())));
}

TEST(TokenWindows, DigestIsOfTokenIdsAndTokenizer) {
    std::string text = "the cat and the hat";
    TextSource source(text, tokenizer(), 3);
    std::vector<text::Token> tokens = tokenizer().encode(text);
    std::string bytes(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(text::Token));
    EXPECT_EQ(source.digest(), base::sha256_hex(bytes + tokenizer().digest()));
    EXPECT_EQ(TextSource(text, tokenizer(), 5).digest(), source.digest());
    EXPECT_NE(TextSource(text + "s", tokenizer(), 3).digest(), source.digest());
    text::Tokenizer other = text::train_tokenizer("", {256, {}, nullptr});
    EXPECT_NE(TextSource(text, other, 3).digest(), source.digest());
}

TEST(TokenWindows, TooShortATextSaysWhatIsNeeded) {
    EXPECT_NE(error_of<TextSource>("zz", 256, Code::file)
                  .find("the training text has 2 bytes, which are 2 tokens; samples of length 256 need at least 257"),
              std::string::npos);
    EXPECT_NE(error_of<TextSource>("", 4, Code::file).find("0 bytes, which are 0 tokens"), std::string::npos);
    EXPECT_NE(error_of<HeldOut>("z", 4, Code::file).find("held-out text has 1 bytes"), std::string::npos);
    EXPECT_NE(error_of<TextSource>("zzz", 0, Code::usage).find("length must be at least 1"), std::string::npos);
    EXPECT_EQ(error_of<TextSource>("zzz", 2, Code::usage), "no error");
    EXPECT_EQ(error_of<HeldOut>("zz", 200, Code::usage), "no error");
}

TEST(TokenWindows, ReadingOutsideOrIntoTheWrongRoomIsAnError) {
    TextSource source("zzzzzzz", tokenizer(), 2);
    std::vector<int64_t> two(2), three(3);
    EXPECT_EQ(source.samples(), 3);
    EXPECT_THROW(source.read(3, two, two), Error);
    EXPECT_THROW(source.read(-1, two, two), Error);
    EXPECT_THROW(source.read(0, three, two), Error);
    EXPECT_THROW(source.read(0, two, three), Error);
}

}  // namespace tenon::data
