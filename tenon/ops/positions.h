// The working memory of a scatter sum: for each destination, where its sources stand.
#pragma once

#include <cstdint>

namespace tenon::ops {

// i64 lists: the start of each of `destinations` and the end of the last, then the positions.
constexpr int64_t positions_bytes(int64_t sources, int64_t destinations) {
    return (destinations + 1 + sources) * int64_t{8};
}

}  // namespace tenon::ops
