// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::base {

// The offset of the first byte that cannot begin or continue a character, as the start of its bad sequence; -1 where
// all is valid.
int64_t first_invalid_utf8(std::string_view text) noexcept;
inline bool is_utf8(std::string_view text) noexcept {
    return first_invalid_utf8(text) < 0;
}

// What to tell who gave a text that is not UTF-8: the byte, its offset, and how to convert; "" where all is valid.
std::string invalid_utf8_message(std::string_view text);

struct CodePoint {
    char32_t value;
    int bytes;  // 1 to 4; 0 where the bytes at the offset are no character
};
// The character at `offset` (< size).
CodePoint decode_utf8(std::string_view text, int64_t offset) noexcept;
// Appends the character; a surrogate or a value above U+10FFFF is Error(usage).
void append_utf8(std::string& text, char32_t code_point);
std::string encode_utf8(char32_t code_point);

// The largest cut ≤ `offset` that splits no character of a valid text; in an invalid one it moves back at most 3 bytes.
int64_t character_boundary_before(std::string_view text, int64_t offset) noexcept;

// How many leading bytes of `text` are whole characters: what a stream may print now. An unfinished character at the
// end is left out; bytes that can no longer become one count as printable.
int64_t complete_utf8_prefix(std::string_view text) noexcept;

// Every maximal bad subsequence becomes U+FFFD (Unicode 15, section 3.9, U+FFFD substitution).
std::string replace_invalid_utf8(std::string_view text);

int64_t count_characters(std::string_view valid_utf8) noexcept;

}  // namespace tenon::base
