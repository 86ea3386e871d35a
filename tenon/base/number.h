// Numbers as text: exact ones for files, short ones for people. No locale has a say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::base {

// The fewest digits that read back as the same value, with an exponent below 1e-4 and from 1e16 on, as Python writes
// them: "0.1", "3e-05", "1e+22", "4096", "-0", "nan", "inf", "-inf".
std::string shortest(double value);
std::string shortest(float value);
// The same, but always with '.' or an exponent, so that a reader sees a real: "1.0".
std::string shortest_real(double value);

std::string fixed(double value, int decimals);                     // "3.142"
std::string significant(double value, int digits);                 // "0.00123", "1.23e-09"
std::string human_bytes(int64_t bytes);                            // "512 B", "3.9 MiB"
std::string human_count(double count);                             // "950", "12.3 k", "1.40 M", "2.10 G", "3.00 T"
std::string human_rate(double per_second, std::string_view unit);  // "12.3 k tokens/s"
std::string human_duration(double seconds);  // "0.25 s", "12.3 s", "4 min 05 s", "3 h 12 min", "2 d 04 h"
std::string percent(double share);           // 0.4567 -> "45.7%"

// The whole text as a number, else nullopt. No spaces, no '+', no hex.
std::optional<int64_t> parse_integer(std::string_view text) noexcept;
std::optional<double> parse_real(std::string_view text) noexcept;

}  // namespace tenon::base
