// The key of a tensor's digest.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::ops {

// The first two little-endian 32-bit words of SHA-256(name).
struct DigestKey {
    uint32_t n0 = 0;
    uint32_t n1 = 0;
};
DigestKey digest_key(std::string_view name);

}  // namespace tenon::ops
