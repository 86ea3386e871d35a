// A byte-level BPE tokenizer (Sennrich et al. 2016, on bytes as GPT-2 does): text to token ids and back, without loss.
// Immutable once built: any number of threads may use one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/text/merge_table.h"

namespace tenon::text {

// What a tokenizer consists of. Ids are positions in `tokens`.
struct Vocabulary {
    std::vector<std::string> tokens;              // the bytes each stands for; a special token's own text
    std::vector<std::pair<Token, Token>> merges;  // in order of rank
    std::vector<Token> specials;                  // ascending
};

// Whether "<|endoftext|>" in a text means the token of that name. Text from users should stay text.
enum class SpecialInput { as_text, as_token };
enum class SpecialOutput { keep, skip };

class Tokenizer {
public:
    // Checks that all 256 bytes have a token, that a merge's parts and result are ordinary tokens, and that none is
    // there twice. Error(file, "tokenizer"), opened by `where` (a file's name), names the culprit.
    explicit Tokenizer(Vocabulary vocabulary, std::string_view where = "");

    // A tokenizer.json of Hugging Face `tokenizers`: model BPE, pre-tokenizer and decoder ByteLevel, special added
    // tokens; at most 64 MiB. Anything that would encode differently is refused by name.
    static Tokenizer load(const std::string& path);
    static Tokenizer parse(std::string_view json, std::string_view where);
    void save(const std::string& path) const;
    std::string to_json() const;  // the canonical file
    std::string digest() const;   // SHA-256 of to_json(), 64 digits

    int64_t size() const noexcept { return static_cast<int64_t>(vocabulary_.tokens.size()); }
    const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

    // Token ids of any UTF-8 text. Error(file, "tokenizer") with the offset of the first byte that is not UTF-8.
    // Time is linear in the text but for pieces of more than 48 bytes: n log n in their length.
    std::vector<Token> encode(std::string_view text, SpecialInput specials = SpecialInput::as_text) const;
    // The text of any ids, as UTF-8: what a cut left unfinished becomes U+FFFD. decode(encode(t)) is t.
    // Error(usage, "tokenizer") for an id outside [0, size()).
    std::string decode(std::span<const Token> ids, SpecialOutput specials = SpecialOutput::keep) const;

    std::string_view bytes(Token id) const;  // what one token stands for; may be part of a character
    bool is_special(Token id) const noexcept;
    std::optional<Token> special(std::string_view text) const noexcept;

private:
    void encode_ordinary(std::string_view text, std::vector<Token>& ids) const;
    void encode_piece(std::string_view piece, std::vector<Token>& symbols) const;

    Vocabulary vocabulary_;
    std::array<Token, 256> byte_token_{};
    MergeTable merges_;
};

// Decodes ids one by one into text that can be shown at once: a character comes out when its last byte is there. The
// outputs together are what decode() gives for all ids.
class TextStream {
public:
    // Refers to the tokenizer, which must outlive it.
    explicit TextStream(const Tokenizer& tokenizer, SpecialOutput specials = SpecialOutput::keep)
        : tokenizer_(tokenizer), specials_(specials) {}

    std::string push(Token id);
    std::string finish();  // what was left unfinished, as U+FFFD

private:
    const Tokenizer& tokenizer_;
    SpecialOutput specials_;
    std::string pending_;
};

}  // namespace tenon::text
