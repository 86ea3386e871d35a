// Numbers as bytes, the least significant first: the order of every file here and of every hashed number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon::base {

template <typename Unsigned>
void append_little_endian(std::string& to, Unsigned value) {
    for (size_t i = 0; i < sizeof(Unsigned); ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}

// From bytes of any kind that are indexed; at + sizeof(Unsigned) of them must be there.
template <typename Unsigned, typename Bytes>
Unsigned little_endian_at(const Bytes& from, size_t at) {
    Unsigned value = 0;
    for (size_t i = 0; i < sizeof(Unsigned); ++i) {
        value |= static_cast<Unsigned>(static_cast<uint8_t>(from[at + i])) << (8 * i);
    }
    return value;
}

}  // namespace tenon::base
