// tokenizer.json, the file of Hugging Face `tokenizers`, for the one kind of tokenizer that is ours.

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/json.h"
#include "tenon/base/sha256.h"
#include "tenon/text/alphabet.h"
#include "tenon/text/tokenizer.h"

namespace tenon::text {

using base::Json;
using base::JsonReader;

namespace {

constexpr int64_t most_bytes = int64_t{64} << 20;

// A token as the file names it.
std::string spelling(const Tokenizer& tokenizer, Token id) {
    std::string bytes(tokenizer.bytes(id));
    return tokenizer.is_special(id) ? bytes : spell_bytes(bytes);
}

Json byte_level(bool add_prefix_space, bool trim_offsets) {
    return Json::object({{"type", "ByteLevel"},
                         {"add_prefix_space", add_prefix_space},
                         {"trim_offsets", trim_offsets},
                         {"use_regex", true}});
}

void must_be_null(const JsonReader& object, std::string_view key) {
    if (auto value = object.optional(key)) value->fail("is not supported; it must be null");
}

// A setting that changes encodings: absent, null or the one value that is ours.
void must_be(const JsonReader& object, std::string_view key, bool ours) {
    auto value = object.optional(key);
    if (value && value->boolean() != ours) value->fail(ours ? "must be true" : "must be false");
}

void must_be_empty(const JsonReader& object, std::string_view key) {
    auto value = object.optional(key);
    if (value && !value->string().empty()) value->fail("must be null: bytes have no prefix or suffix");
}

// The pre-tokenizer decides encodings. The decoder's and the post-processor's settings only move offsets, which we do
// not report.
void check_byte_level(const JsonReader& part) {
    const std::string& type = part["type"].string();
    if (type != "ByteLevel") part["type"].fail("is \"" + type + "\"; only ByteLevel is supported");
    part.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"})
        if (auto value = part.optional(key)) value->boolean();
}

void check_pipeline(const JsonReader& file) {
    file.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
               "decoder", "model"});
    if (file["version"].string() != "1.0") file["version"].fail("must be \"1.0\"");
    for (const char* key : {"truncation", "padding", "normalizer"}) must_be_null(file, key);
    JsonReader split = file["pre_tokenizer"];
    if (split.is_null()) split.fail("must be ByteLevel");
    check_byte_level(split);
    if (!split.optional("add_prefix_space"))
        split.fail("must say add_prefix_space: its default is true, ours is false");
    must_be(split, "add_prefix_space", false);
    must_be(split, "use_regex", true);
    JsonReader decoder = file["decoder"];
    if (decoder.is_null()) decoder.fail("must be ByteLevel");
    check_byte_level(decoder);
    if (auto post = file.optional("post_processor")) check_byte_level(*post);
}

void check_model(const JsonReader& model) {
    model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                "byte_fallback", "ignore_merges", "vocab", "merges"});
    auto type = model.optional("type");
    if (type && type->string() != "BPE") type->fail("is \"" + type->string() + "\"; only BPE is supported");
    must_be_null(model, "dropout");
    must_be_null(model, "unk_token");
    must_be_empty(model, "continuing_subword_prefix");
    must_be_empty(model, "end_of_word_suffix");
    for (const char* key : {"fuse_unk", "byte_fallback", "ignore_merges"}) must_be(model, key, false);
}

// Gives ids to names, each id and each name once.
class Names {
public:
    explicit Names(int64_t most) : names_(static_cast<size_t>(most)) {}

    void add(const JsonReader& place, const std::string& name, int64_t id) {
        if (name.empty()) place.fail("a token's text is empty");
        std::string& slot = names_[static_cast<size_t>(id)];
        if (!slot.empty() && slot != name)
            place.fail("id " + std::to_string(id) + " is both \"" + slot + "\" and \"" + name + "\"");
        if (slot.empty()) ++count_;
        slot = name;
    }

    // All names by id; the ids must be 0, 1, 2, …
    std::vector<std::string> take(const JsonReader& place) {
        names_.resize(static_cast<size_t>(count_) + 1);
        for (size_t id = 0; id < static_cast<size_t>(count_); ++id)
            if (names_[id].empty())
                place.fail("there are " + std::to_string(count_) + " tokens, but none has the id " +
                           std::to_string(id));
        names_.pop_back();
        return std::move(names_);
    }

private:
    std::vector<std::string> names_;
    int64_t count_ = 0;
};

std::vector<Token> read_specials(const JsonReader& file, const JsonReader& vocab, Names& names, int64_t most) {
    std::vector<Token> ids;
    auto added = file.optional("added_tokens");
    if (!added) return ids;
    std::optional<bool> normalized;
    for (const JsonReader& token : added->elements()) {
        token.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
        if (!token["special"].boolean())
            token["special"].fail("must be true: added tokens that are not special are not supported");
        for (const char* key : {"single_word", "lstrip", "rstrip"}) must_be(token, key, false);
        if (auto flag = token.optional("normalized")) {  // without a normalizer it only orders two passes of matching
            if (normalized.value_or(flag->boolean()) != flag->boolean()) flag->fail("must be the same for all tokens");
            normalized = flag->boolean();
        }
        int64_t id = token["id"].integer(0, most - 1);
        const std::string& content = token["content"].string();
        const Json* known = vocab.json().find(content);
        if (known && (!known->is(Json::Kind::integer) || known->integer() != id))
            token["id"].fail("\"" + content + "\" has another id in the model's vocab");
        if (std::find(ids.begin(), ids.end(), id) != ids.end()) token["id"].fail("is there twice");
        names.add(token, content, id);
        ids.push_back(static_cast<Token>(id));
    }
    return ids;
}

// "a b" as older files have it, or ["a", "b"].
std::pair<std::string, std::string> read_merge(const JsonReader& merge) {
    if (merge.kind() == Json::Kind::array) {
        if (merge.size() != 2) merge.fail("a merge joins two tokens");
        return {merge[0].string(), merge[1].string()};
    }
    const std::string& text = merge.string();
    size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
        merge.fail("a merge is two tokens with one space between them");
    return {text.substr(0, space), text.substr(space + 1)};
}

Token known_token(const JsonReader& merge, const JsonReader& vocab, const std::string& name) {
    const Json* id = vocab.json().find(name);
    if (!id) merge.fail("\"" + name + "\" is not in the vocab");
    return static_cast<Token>(id->integer());
}

}  // namespace

Tokenizer Tokenizer::parse(std::string_view json, std::string_view where) {
    Json document = base::parse_json(json, where, {.bytes = most_bytes});
    JsonReader file(document, where, "tokenizer");
    check_pipeline(file);
    JsonReader model = file["model"];
    check_model(model);
    JsonReader vocab = model["vocab"];
    auto added = file.optional("added_tokens");
    int64_t most = vocab.size() + (added ? added->size() : 0);

    Names names(most);
    for (const auto& [name, id] : vocab.members()) names.add(id, name, id.integer(0, most - 1));
    Vocabulary vocabulary;
    vocabulary.specials = read_specials(file, vocab, names, most);
    vocabulary.tokens = names.take(vocab);
    std::vector<bool> special(vocabulary.tokens.size());
    for (Token id : vocabulary.specials) special[static_cast<size_t>(id)] = true;
    for (size_t id = 0; id < special.size(); ++id) {
        if (special[id]) continue;
        std::string& token = vocabulary.tokens[id];
        auto bytes = read_bytes(token);
        if (!bytes)
            vocab.fail("token " + std::to_string(id) + ", \"" + token + "\", is not spelled in the byte alphabet");
        token = *bytes;
    }
    for (const JsonReader& merge : model["merges"].elements()) {
        auto [left, right] = read_merge(merge);
        vocabulary.merges.emplace_back(known_token(merge, vocab, left), known_token(merge, vocab, right));
    }
    return Tokenizer(std::move(vocabulary), where);
}

Tokenizer Tokenizer::load(const std::string& path) {
    return parse(base::read_file(path, most_bytes), path);
}

std::string Tokenizer::to_json() const {
    Json added = Json::array(), vocab = Json::object(), merges = Json::array();
    for (Token id : vocabulary_.specials)
        added.push(Json::object({{"id", id},
                                 {"content", bytes(id)},
                                 {"single_word", false},
                                 {"lstrip", false},
                                 {"rstrip", false},
                                 {"normalized", false},
                                 {"special", true}}));
    for (Token id = 0; id < size(); ++id) vocab.set(spelling(*this, id), id);
    for (auto [left, right] : vocabulary_.merges)
        merges.push(Json::array({spelling(*this, left), spelling(*this, right)}));
    Json file = Json::object({{"version", "1.0"},
                              {"truncation", nullptr},
                              {"padding", nullptr},
                              {"added_tokens", std::move(added)},
                              {"normalizer", nullptr},
                              {"pre_tokenizer", byte_level(false, true)},
                              {"post_processor", byte_level(true, false)},
                              {"decoder", byte_level(true, true)},
                              {"model", Json::object({{"type", "BPE"},
                                                      {"dropout", nullptr},
                                                      {"unk_token", nullptr},
                                                      {"continuing_subword_prefix", nullptr},
                                                      {"end_of_word_suffix", nullptr},
                                                      {"fuse_unk", false},
                                                      {"byte_fallback", false},
                                                      {"ignore_merges", false},
                                                      {"vocab", std::move(vocab)},
                                                      {"merges", std::move(merges)}})}});
    return file.pretty() + "\n";
}

void Tokenizer::save(const std::string& path) const {
    base::write_file_atomically(path, to_json());
}

std::string Tokenizer::digest() const {
    return base::sha256_hex(to_json());
}

}  // namespace tenon::text
