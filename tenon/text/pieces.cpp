#include "tenon/text/pieces.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tenon/base/error.h"
#include "tenon/base/log.h"
#include "tenon/base/unicode.h"

namespace tenon::text {

namespace {

// The classes are Unicode 16's, as in `tokenizers`, whichever Unicode PCRE2 has from 14 (10.40) to 16: what came after
// 14 is listed. tests/golden/tokenizer/classes.txt holds the truth for every code point.
constexpr char letter[] =
    R"(\p{L})"
    R"(\x{1c89}-\x{1c8a}\x{a7cb}-\x{a7cd}\x{a7da}-\x{a7dc}\x{105c0}-\x{105f3}\x{10d4a}-\x{10d65})"
    R"(\x{10d6f}-\x{10d85}\x{10ec2}-\x{10ec4}\x{1123f}-\x{11240}\x{11380}-\x{11389}\x{1138b}\x{1138e})"
    R"(\x{11390}-\x{113b5}\x{113b7}\x{113d1}\x{113d3}\x{11bc0}-\x{11be0}\x{11f02}\x{11f04}-\x{11f10})"
    R"(\x{11f12}-\x{11f33}\x{1342f}\x{13441}-\x{13446}\x{13460}-\x{143fa}\x{16100}-\x{1611d}\x{16d40}-\x{16d6c})"
    R"(\x{18cff}\x{1b132}\x{1b155}\x{1df25}-\x{1df2a}\x{1e030}-\x{1e06d}\x{1e4d0}-\x{1e4eb}\x{1e5d0}-\x{1e5ed})"
    R"(\x{1e5f0}\x{2b739}\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})";
constexpr char number[] =
    R"(\p{N})"
    R"(\x{10d40}-\x{10d49}\x{116d0}-\x{116e3}\x{11bf0}-\x{11bf9}\x{11f50}-\x{11f59}\x{16130}-\x{16139})"
    R"(\x{16d70}-\x{16d79}\x{1ccf0}-\x{1ccf9}\x{1d2c0}-\x{1d2d3}\x{1e4f0}-\x{1e4f9}\x{1e5f1}-\x{1e5fa})";
// Unicode's White_Space: PCRE2's \s would add U+180E.
constexpr char space[] = R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::string pattern() {
    const std::string l = letter, n = number, s = space;
    return "'s|'t|'re|'ve|'m|'ll|'d| ?[" + l + "]+| ?[" + n + "]+| ?[^" + s + l + n + "]+|[" + s + "]+(?![^" + s +
           "])|[" + s + "]+";
}

[[noreturn]] void fail(std::string_view what, int code) {
    char reason[256] = "";
    pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(reason), sizeof reason);
    throw Error(Code::failed, "tokenizer", std::string(what) + ": " + reason + " (" + pattern_engine() + ")");
}

// Compiled once for the process; PCRE2 lets threads share it. Every character is in some branch, so each match begins
// where the last ended: anchored.
const pcre2_code* compiled_pattern() {
    static const pcre2_code* const code = [] {
        int error = 0;
        PCRE2_SIZE offset = 0;
        const std::string text = pattern();
        pcre2_code* result = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                           PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &offset, nullptr);
        if (!result) fail("the word pattern does not compile", error);
        if (pcre2_jit_compile(result, PCRE2_JIT_COMPLETE) != 0)
            base::log_warning("tokenizer: PCRE2 cannot compile to machine code here; splitting text is slower");
        return result;
    }();
    return code;
}

std::string configured(uint32_t what) {
    char value[64] = "";
    pcre2_config(what, value);
    return value;
}

}  // namespace

struct Pieces::Match {
    pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
    ~Match() { pcre2_match_data_free(data); }
};

Pieces::Pieces(std::string_view text) : text_(text), match_(std::make_unique<Match>()) {
    require_utf8(text);
    if (!match_->data) throw Error(Code::failed, "tokenizer", "out of memory for the word pattern");
}

Pieces::~Pieces() = default;

bool Pieces::next(std::string_view& piece) {
    if (at_ == text_.size()) return false;
    int count = pcre2_match(compiled_pattern(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at_,
                            PCRE2_NO_UTF_CHECK, match_->data, nullptr);
    if (count < 0) fail("the word pattern failed at byte " + std::to_string(at_), count);
    size_t end = pcre2_get_ovector_pointer(match_->data)[1];
    piece = text_.substr(at_, end - at_);
    at_ = end;
    return true;
}

std::string pattern_engine() {
    return "PCRE2 " + configured(PCRE2_CONFIG_VERSION) + ", Unicode " + configured(PCRE2_CONFIG_UNICODE_VERSION);
}

void require_utf8(std::string_view text) {
    const std::string message = base::invalid_utf8_message(text);
    if (!message.empty()) throw Error(Code::file, "tokenizer", "the text is " + message);
}

}  // namespace tenon::text
