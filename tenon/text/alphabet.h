// GPT-2's byte alphabet: a printable character for each byte, so that a tokenizer's file is text.
// Bytes that Latin-1 prints keep their character; the other 68 take U+0100 … U+0143 in ascending order
// (Radford et al. 2019, bytes_to_unicode). A space reads "Ġ", a newline "Ċ".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::text {

// The bytes in the order of their characters: the order of their ids in a trained vocabulary.
const std::array<uint8_t, 256>& byte_order();

// Any bytes as a text of the alphabet, and back; nullopt where a character is not of the alphabet.
std::string spell_bytes(std::string_view bytes);
std::optional<std::string> read_bytes(std::string_view spelled);

}  // namespace tenon::text
