#include "tenon/text/alphabet.h"

#include "tenon/base/unicode.h"

namespace tenon::text {

namespace {

constexpr bool keeps_character(int byte) {
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
    std::array<uint8_t, 256> order;
    std::array<std::string, 256> character;  // by byte
    std::array<int16_t, 0x144> byte;         // by character; -1 where none

    Alphabet() {
        byte.fill(-1);
        int count = 0;
        for (int b = 0; b < 256; ++b)
            if (keeps_character(b)) add(count++, b, static_cast<char32_t>(b));
        char32_t next = 0x100;
        for (int b = 0; b < 256; ++b)
            if (!keeps_character(b)) add(count++, b, next++);
    }

    void add(int place, int b, char32_t c) {
        order[static_cast<size_t>(place)] = static_cast<uint8_t>(b);
        character[static_cast<size_t>(b)] = base::encode_utf8(c);
        byte[c] = static_cast<int16_t>(b);
    }
};

const Alphabet& alphabet() {
    static const Alphabet built;
    return built;
}

}  // namespace

const std::array<uint8_t, 256>& byte_order() {
    return alphabet().order;
}

std::string spell_bytes(std::string_view bytes) {
    std::string spelled;
    for (char b : bytes) spelled += alphabet().character[static_cast<uint8_t>(b)];
    return spelled;
}

std::optional<std::string> read_bytes(std::string_view spelled) {
    std::string bytes;
    for (int64_t at = 0; at < static_cast<int64_t>(spelled.size());) {
        auto [character, length] = base::decode_utf8(spelled, at);
        if (length == 0 || character >= alphabet().byte.size() || alphabet().byte[character] < 0) return std::nullopt;
        bytes += static_cast<char>(alphabet().byte[character]);
        at += length;
    }
    return bytes;
}

}  // namespace tenon::text
