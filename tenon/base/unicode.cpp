#include "tenon/base/unicode.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/sha256.h"

namespace tenon::base {

namespace {

uint8_t byte_at(std::string_view text, int64_t offset) noexcept {
    return static_cast<uint8_t>(text[static_cast<size_t>(offset)]);
}

bool continues(uint8_t byte) noexcept {
    return (byte & 0xC0) == 0x80;
}

// What the bytes at an offset are: a whole character, the beginning of one that the text ends within, or neither.
struct Sequence {
    int length;       // bytes of the character, or of the maximal bad subsequence (at least 1)
    bool whole;       // a character
    bool unfinished;  // all bytes so far are right and the text ends
    char32_t value;
};

// Table 3-7 of the Unicode standard: the second byte's range depends on the first, the others are 80..BF.
Sequence sequence_at(std::string_view text, int64_t offset) noexcept {
    const int64_t left = static_cast<int64_t>(text.size()) - offset;
    const uint8_t first = byte_at(text, offset);
    if (first < 0x80) return {1, true, false, first};
    int length = 0;
    uint8_t low = 0x80, high = 0xBF;
    char32_t value = 0;
    if (first >= 0xC2 && first <= 0xDF) {
        length = 2;
        value = first & 0x1F;
    } else if (first >= 0xE0 && first <= 0xEF) {
        length = 3;
        value = first & 0x0F;
        if (first == 0xE0) low = 0xA0;
        if (first == 0xED) high = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
        length = 4;
        value = first & 0x07;
        if (first == 0xF0) low = 0x90;
        if (first == 0xF4) high = 0x8F;
    } else {
        return {1, false, false, 0};
    }
    for (int i = 1; i < length; ++i) {
        if (i >= left) return {i, false, true, 0};
        const uint8_t next = byte_at(text, offset + i);
        if (next < low || next > high) return {i, false, false, 0};
        value = (value << 6) | (next & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    return {length, true, false, value};
}

}  // namespace

int64_t first_invalid_utf8(std::string_view text) noexcept {
    const int64_t size = static_cast<int64_t>(text.size());
    for (int64_t offset = 0; offset < size;) {
        const Sequence sequence = sequence_at(text, offset);
        if (!sequence.whole) return offset;
        offset += sequence.length;
    }
    return -1;
}

std::string invalid_utf8_message(std::string_view text) {
    const int64_t bad = first_invalid_utf8(text);
    if (bad < 0) return "";
    const uint8_t byte = byte_at(text, bad);
    return "not UTF-8: byte 0x" + hex(&byte, 1) + " at offset " + std::to_string(bad) +
           "; convert it first, for example with iconv -t UTF-8";
}

CodePoint decode_utf8(std::string_view text, int64_t offset) noexcept {
    const Sequence sequence = sequence_at(text, offset);
    return sequence.whole ? CodePoint{sequence.value, sequence.length} : CodePoint{0, 0};
}

void append_utf8(std::string& text, char32_t c) {
    const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
        throw Error(Code::usage, "unicode",
                    "code point " + std::to_string(static_cast<uint32_t>(c)) +
                        " is a surrogate or above U+10FFFF: UTF-8 has no form for it");
    }
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | (c >> 6));
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | (c >> 12));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | (c >> 18));
        put(0x80 | ((c >> 12) & 0x3F));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

std::string encode_utf8(char32_t code_point) {
    std::string text;
    append_utf8(text, code_point);
    return text;
}

int64_t character_boundary_before(std::string_view text, int64_t offset) noexcept {
    const int64_t size = static_cast<int64_t>(text.size());
    int64_t cut = std::clamp<int64_t>(offset, 0, size);
    for (int back = 0; back < 3 && cut > 0 && cut < size && continues(byte_at(text, cut)); ++back) --cut;
    return cut;
}

int64_t complete_utf8_prefix(std::string_view text) noexcept {
    const int64_t size = static_cast<int64_t>(text.size());
    for (int64_t start = std::max<int64_t>(0, size - 3); start < size; ++start) {
        if (!continues(byte_at(text, start)) && sequence_at(text, start).unfinished) return start;
    }
    return size;
}

std::string replace_invalid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    const int64_t size = static_cast<int64_t>(text.size());
    for (int64_t offset = 0; offset < size;) {
        const Sequence sequence = sequence_at(text, offset);
        if (sequence.whole) {
            out.append(text, static_cast<size_t>(offset), static_cast<size_t>(sequence.length));
        } else {
            out += "\xEF\xBF\xBD";
        }
        offset += sequence.length;
    }
    return out;
}

int64_t count_characters(std::string_view valid_utf8) noexcept {
    return std::count_if(valid_utf8.begin(), valid_utf8.end(),
                         [](char c) { return !continues(static_cast<uint8_t>(c)); });
}

}  // namespace tenon::base
