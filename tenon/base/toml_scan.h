// What is checked in TOML text before toml++ sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::base {

constexpr int64_t most_toml_levels = 128;

struct TomlFault {
    int64_t line;  // from 1
    std::string message;
};

// The first place outside strings and comments where brackets and dots nest deeper than most_toml_levels, or where a
// character is not ASCII. toml++ limits brackets but not dots ("a.b.c.d…" makes a level each), and it walks and
// destroys tables by recursion; and it takes Unicode's spaces for spaces, which TOML does not. Other faults are left to
// it.
std::optional<TomlFault> first_toml_fault(std::string_view text);

}  // namespace tenon::base
