#include "tenon/ops/digest_key.h"

#include "tenon/base/little_endian.h"
#include "tenon/base/sha256.h"

namespace tenon::ops {

DigestKey digest_key(std::string_view name) {
    const auto bytes = base::sha256(name);
    return {base::little_endian_at<uint32_t>(bytes, 0), base::little_endian_at<uint32_t>(bytes, 4)};
}

}  // namespace tenon::ops
