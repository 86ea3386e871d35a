// The tokenizer of examples/bible.toml: the whole Bible at 2,048. tools/bible_text.sh makes the text.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tenon/base/sha256.h"
#include "tenon/text/alphabet.h"
#include "tenon/text/trainer.h"
#include "tests/text/golden.h"

namespace tenon::text {

TEST(Trainer, LearnsTheBibleAsTokenizersDoes) {
    std::string path = testing::TempDir() + "/tenon-bible-test.txt";
    ASSERT_EQ(std::system((TENON_GOLDEN_DIR "/../../tools/bible_text.sh '" + path + "'").c_str()), 0);
    base::Json golden = base::parse_json(base::read_file(golden_path("bible-2048.digests.json")), "bible");
    std::string text = base::read_file(path);
    base::remove_file(path);
    ASSERT_EQ(base::sha256_hex(text), golden.at("text_sha256").string());
    auto train_bytes = static_cast<size_t>(golden.at("train_bytes").integer());
    Tokenizer t = train_tokenizer(std::string_view(text).substr(0, train_bytes),
                                  {golden.at("vocab_size").integer(), {}, nullptr});
    std::string merges;
    for (auto [left, right] : t.vocabulary().merges)
        merges += spell_bytes(t.bytes(left)) + " " + spell_bytes(t.bytes(right)) + "\n";
    EXPECT_EQ(base::sha256_hex(merges), golden.at("merges_sha256").string());
    std::vector<Token> ids = t.encode(text);
    EXPECT_EQ(static_cast<int64_t>(ids.size()), golden.at("ids").integer());
    base::Sha256 sum;
    sum.update(ids.data(), static_cast<int64_t>(ids.size() * sizeof(Token)));
    EXPECT_EQ(sum.finish_hex(), golden.at("ids_sha256").string());
    EXPECT_EQ(t.decode(ids), text);
}

}  // namespace tenon::text
