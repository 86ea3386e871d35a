// The candidate that a mistyped word most likely meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::base {

// Edits that turn a into b: insert, delete, replace a byte, swap two neighbours (optimal string alignment).
int64_t edit_distance(std::string_view a, std::string_view b);

// The candidate at the least distance (the first of equals); "" where none is near: the distance may be at most a third
// of the longer word, and at least 1 is allowed.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// `; nearest is "learning_rate"`, or where nothing is near `; known are "a", "b"` (at most 12), or "" without
// candidates.
std::string nearest_hint(std::string_view word, const std::vector<std::string_view>& candidates);
std::string nearest_hint(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tenon::base
