#include "tenon/data/token_windows.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/sha256.h"

namespace tenon::data {

namespace {

std::vector<text::Token> tokenize(std::string_view text, const text::Tokenizer& tokenizer, int64_t length,
                                  int64_t needed, std::string_view what) {
    if (length < 1)
        throw Error(Code::usage, "data", "a sample's length must be at least 1, not " + std::to_string(length));
    std::vector<text::Token> tokens = tokenizer.encode(text);
    if (static_cast<int64_t>(tokens.size()) < needed)
        throw Error(Code::file, "data",
                    "the " + std::string(what) + " text has " + std::to_string(text.size()) + " bytes, which are " +
                        std::to_string(tokens.size()) + " tokens; samples of length " + std::to_string(length) +
                        " need at least " + std::to_string(needed) + " tokens: give more text" +
                        (needed > 2 ? " or a shorter length" : ""));
    return tokens;
}

// SHA-256 of the token ids as 32-bit little-endian words, then the tokenizer's digest.
std::string digest_of(std::span<const text::Token> tokens, const text::Tokenizer& tokenizer) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(text::Token) == 4);
    base::Sha256 sum;
    sum.update(tokens.data(), static_cast<int64_t>(tokens.size_bytes()));
    sum.update(tokenizer.digest());
    return sum.finish_hex();
}

void check_read(const Source& source, int64_t i, std::span<int64_t> inputs, std::span<int64_t> targets) {
    if (i < 0 || i >= source.samples())
        throw Error(Code::usage, "data",
                    "there is no sample " + std::to_string(i) + "; the source has " + std::to_string(source.samples()));
    auto length = static_cast<size_t>(source.length());
    if (inputs.size() != length || targets.size() != length)
        throw Error(Code::usage, "data",
                    "a sample has " + std::to_string(length) + " inputs and targets; room was given for " +
                        std::to_string(inputs.size()) + " and " + std::to_string(targets.size()));
}

}  // namespace

TextSource::TextSource(std::string_view text, const text::Tokenizer& tokenizer, int64_t length)
    : tokens_(tokenize(text, tokenizer, length, length + 1, "training")),
      length_(length),
      digest_(digest_of(tokens_, tokenizer)) {}

void TextSource::read(int64_t i, std::span<int64_t> inputs, std::span<int64_t> targets) const {
    check_read(*this, i, inputs, targets);
    auto begin = tokens_.begin() + i * length_;
    std::copy(begin, begin + length_, inputs.begin());
    std::copy(begin + 1, begin + length_ + 1, targets.begin());
}

HeldOut::HeldOut(std::string_view text, const text::Tokenizer& tokenizer, int64_t length)
    : tokens_(tokenize(text, tokenizer, length, 2, "held-out")),
      length_(length),
      bytes_(static_cast<int64_t>(text.size() - tokenizer.bytes(tokens_[0]).size())),
      digest_(digest_of(tokens_, tokenizer)) {}

void HeldOut::read(int64_t i, std::span<int64_t> inputs, std::span<int64_t> targets) const {
    check_read(*this, i, inputs, targets);
    int64_t begin = i * length_, count = std::min(length_, predictions() - begin);
    auto first = tokens_.begin() + begin;
    std::fill(std::copy(first, first + count, inputs.begin()), inputs.end(), 0);
    std::fill(std::copy(first + 1, first + count + 1, targets.begin()), targets.end(), ignored_target);
}

double HeldOut::bits_per_byte(double nats) const noexcept {
    constexpr double ln2 = 0x1.62e42fefa39efp-1;
    return nats / (ln2 * static_cast<double>(bytes_));
}

}  // namespace tenon::data
