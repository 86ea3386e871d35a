#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "tenon/base/error.h"
#include "tenon/base/sha256.h"
#include "tenon/text/tokenizer.h"
#include "tenon/text/trainer.h"
#include "tests/text/golden.h"

namespace tenon::text {

namespace {

using base::Json;

Json& member(Json& json, std::initializer_list<std::string_view> path) {
    Json* at = &json;
    for (std::string_view key : path) at = at->object_value().find(key);
    return *at;
}

struct Damage {
    const char* says;
    std::function<void(Json&)> apply;
};

}  // namespace

TEST(TokenizerFile, SavedAndLoadedIsTheSameTokenizer) {
    Tokenizer first = Tokenizer::load(golden_path("mixed.tokenizer.json"));
    std::string path = testing::TempDir() + "/tenon-tokenizer-test.json";
    first.save(path);
    Tokenizer second = Tokenizer::load(path);
    EXPECT_EQ(second.to_json(), first.to_json());
    EXPECT_EQ(second.digest(), first.digest());
    EXPECT_EQ(second.vocabulary().tokens, first.vocabulary().tokens);
    EXPECT_EQ(second.vocabulary().merges, first.vocabulary().merges);
    EXPECT_EQ(second.vocabulary().specials, first.vocabulary().specials);
    EXPECT_EQ(base::sha256_hex_of_file(path), first.digest());
    std::remove(path.c_str());
}

TEST(TokenizerFile, ReadsMergesInBothSpellings) {
    Golden golden("mixed");
    Tokenizer pairs = Tokenizer::parse(golden.file.dump(), "pairs");
    Json old = golden.file;
    for (Json& merge : member(old, {"model", "merges"}).array_value())
        merge = Json(merge.at(0).string() + " " + merge.at(1).string());
    EXPECT_EQ(Tokenizer::parse(old.dump(), "old").digest(), pairs.digest());
}

// The shape of GPT-2's own file: no model type, empty affixes, a special that stands last and is in the vocab too.
TEST(TokenizerFile, ReadsTheFieldsThatOldFilesHave) {
    Json file = base::parse_json(train_tokenizer("", {256, {}, nullptr}).to_json(), "bytes");
    Json vocab = member(file, {"model", "vocab"});
    vocab.set("th", 256).set("the", 257).set("<|endoftext|>", 258);
    file.set("model", Json::object({{"dropout", nullptr},
                                    {"unk_token", nullptr},
                                    {"continuing_subword_prefix", ""},
                                    {"end_of_word_suffix", ""},
                                    {"fuse_unk", false},
                                    {"vocab", vocab},
                                    {"merges", Json::array({"t h", "th e"})}}));
    file.set("added_tokens", Json::array({Json::object({{"id", 258},
                                                        {"special", true},
                                                        {"content", "<|endoftext|>"},
                                                        {"single_word", false},
                                                        {"lstrip", false},
                                                        {"rstrip", false},
                                                        {"normalized", true}})}));
    Tokenizer read = Tokenizer::parse(file.dump(), "gpt2");
    EXPECT_EQ(read.size(), 259);
    EXPECT_EQ(read.special("<|endoftext|>"), 258);
    EXPECT_EQ(read.encode("the"), std::vector<Token>{257});
}

TEST(TokenizerFile, RefusesWhatItWouldReadWrongly) {
    Golden golden("mixed");
    auto set = [](std::initializer_list<std::string_view> path, Json value) {
        std::vector<std::string_view> keys(path);
        return [keys, value](Json& file) {
            Json* at = &file;
            for (size_t i = 0; i + 1 < keys.size(); ++i) at = at->object_value().find(keys[i]);
            at->set(keys.back(), value);
        };
    };
    auto token = [](std::string_view key, Json value) {
        return [key, value](Json& file) { member(file, {"added_tokens"}).array_value()[0].set(key, value); };
    };
    auto merge = [](Json value) {
        return [value](Json& file) { member(file, {"model", "merges"}).array_value()[5] = value; };
    };
    const std::vector<Damage> damages = {
        {"version", set({"version"}, "2.0")},
        {"\"1.0\"", set({"version"}, "2.0")},
        {"surprise", set({"surprise"}, 1)},
        {"truncation: is not supported", set({"truncation"}, Json::object({{"max_length", 5}}))},
        {"padding: is not supported", set({"padding"}, Json::object())},
        {"normalizer: is not supported", set({"normalizer"}, Json::object({{"type", "NFC"}}))},
        {"pre_tokenizer: must be ByteLevel", set({"pre_tokenizer"}, nullptr)},
        {"\"Split\"; only ByteLevel", set({"pre_tokenizer", "type"}, "Split")},
        {"add_prefix_space: must be false", set({"pre_tokenizer", "add_prefix_space"}, true)},
        {"must say add_prefix_space", set({"pre_tokenizer"}, Json::object({{"type", "ByteLevel"}}))},
        {"use_regex: must be true", set({"pre_tokenizer", "use_regex"}, false)},
        {"expected true or false", set({"pre_tokenizer", "trim_offsets"}, 3)},
        {"\"TemplateProcessing\"", set({"post_processor"}, Json::object({{"type", "TemplateProcessing"}}))},
        {"decoder: must be ByteLevel", set({"decoder"}, nullptr)},
        {"\"WordPiece\"; only BPE", set({"model", "type"}, "WordPiece")},
        {"dropout: is not supported", set({"model", "dropout"}, 0.1)},
        {"unk_token: is not supported", set({"model", "unk_token"}, "<unk>")},
        {"continuing_subword_prefix: must be null", set({"model", "continuing_subword_prefix"}, "##")},
        {"end_of_word_suffix: must be null", set({"model", "end_of_word_suffix"}, "</w>")},
        {"byte_fallback: must be false", set({"model", "byte_fallback"}, true)},
        {"ignore_merges: must be false", set({"model", "ignore_merges"}, true)},
        {"extra", set({"model", "extra"}, true)},
        {"expected an object", set({"model", "vocab"}, Json::array())},
        {"expected an array", set({"model", "merges"}, "a b")},
        {"a merge joins two tokens", merge(Json::array({"a", "b", "c"}))},
        {"one space", merge("a b c")},
        {"one space", merge("ab")},
        {"merges[5]: \"nowhere\" is not in the vocab", merge(Json::array({"nowhere", "a"}))},
        {"which is no token", merge(Json::array({"Z", "Q"}))},
        {"which is no ordinary token", merge(Json::array({"<|pad|>", "a"}))},
        {"is there twice",
         [](Json& file) {
             auto& merges = member(file, {"model", "merges"}).array_value();
             merges[5] = merges[4];
         }},
        {"id 7 is both", set({"model", "vocab", "a"}, 7)},
        {"vocab.a", set({"model", "vocab", "a"}, -1)},
        {"vocab.a", set({"model", "vocab", "a"}, 1'000'000'000)},
        {"vocab.a", set({"model", "vocab", "a"}, "1")},
        {"not spelled in the byte alphabet", set({"model", "vocab", "語"}, 700)},
        {"none has the id 700", set({"model", "vocab", "Zzzz"}, 701)},
        {"special: must be true", token("special", false)},
        {"lstrip: must be false", token("lstrip", true)},
        {"normalized: must be the same", token("normalized", true)},
        {"has another id in the model's vocab", token("id", 5)},
        {"is there twice",
         [](Json& file) {
             auto& added = member(file, {"added_tokens"}).array_value();
             added.push_back(added[0]);
         }},
        {"no token for the byte",
         set({"added_tokens"}, Json::array({Json::object({{"id", 3}, {"content", "!"}, {"special", true}})}))},
    };
    for (const Damage& damage : damages) {
        Json file = golden.file;
        damage.apply(file);
        try {
            Tokenizer::parse(file.dump(), "broken.json");
            ADD_FAILURE() << damage.says;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::file);
            std::string what = error.what();
            EXPECT_NE(what.find("[tokenizer] broken.json: "), std::string::npos) << what;
            EXPECT_NE(what.find(damage.says), std::string::npos) << damage.says << " not in: " << what;
        }
    }
}

TEST(TokenizerFile, DoubledIdsCutsAndGarbageAreErrors) {
    std::string good = Tokenizer::load(golden_path("runs.tokenizer.json")).to_json();
    for (size_t cut = 0; cut + 2 < good.size(); cut += good.size() / 97)
        EXPECT_THROW(Tokenizer::parse(good.substr(0, cut), "cut"), Error) << cut;
    for (const char* garbage : {"", "null", "[]", "{}", "\"tokenizer\"", "{\"version\": 1}", "\xff"})
        EXPECT_THROW(Tokenizer::parse(garbage, "garbage"), Error) << garbage;
    EXPECT_THROW(Tokenizer::load(golden_path("no-such-file.json")), Error);
}

// Flipping any byte gives the old tokenizer, another valid one or an Error, never anything else.
TEST(TokenizerFile, AnyFlippedByteIsHandled) {
    const std::string good = Tokenizer::load(golden_path("runs.tokenizer.json")).to_json();
    for (size_t at = 0; at < good.size(); at += 23) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
        try {
            Tokenizer::parse(bad, "flipped").encode("aab  aba 語");
        } catch (const Error&) {
        }
    }
}

}  // namespace tenon::text
