#include "tenon/ops/digest_key.h"

#include <string>

#include "tenon/base/sha256.h"

namespace tenon::ops {

DigestKey digest_key(std::string_view name) {
    const auto bytes = base::sha256(name);
    const auto word = [&](size_t at) {
        uint32_t value = 0;
        for (size_t i = 0; i < 4; ++i) value |= uint32_t{bytes[at + i]} << (8 * i);
        return value;
    };
    return {word(0), word(4)};
}

}  // namespace tenon::ops
