// The model of `tenon doctor --self-check`: small, with odd widths, grouped heads, dropout and a tied head.
#pragma once

#include <string_view>

namespace tenon::models {

// A [model] section, in TOML.
std::string_view self_check_model();

}  // namespace tenon::models
