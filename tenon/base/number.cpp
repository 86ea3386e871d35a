#include "tenon/base/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace tenon::base {

namespace {

// Large enough for a double in fixed notation: 309 digits, a sign, a point and 64 decimals.
using Text = std::array<char, 400>;

// Python's notation: an exponent only below 1e-4 and from 1e16 on.
template <class T>
std::string shortest_text(T value) {
    if (std::isnan(value)) return "nan";  // to_chars writes "-nan" where the sign bit is set
    const T size = std::fabs(value);
    const bool plain = size == 0 || (size >= T(1e-4) && size < T(1e16));
    Text text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                   plain ? std::chars_format::fixed : std::chars_format::scientific)
                         .ptr;
    return std::string(text.data(), end);
}

std::string formatted(double value, std::chars_format format, int digits) {
    if (std::isnan(value)) return "nan";
    Text text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format, digits).ptr;
    return std::string(text.data(), end);
}

std::string two_digits(int64_t value) {
    return (value < 10 ? "0" : "") + std::to_string(value);
}

// Three digits before the unit: 1.23, 12.3, 123.
std::string three_digits(double value) {
    return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

}  // namespace

std::string shortest(double value) {
    return shortest_text(value);
}
std::string shortest(float value) {
    return shortest_text(value);
}

std::string shortest_real(double value) {
    std::string text = shortest(value);
    if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string fixed(double value, int decimals) {
    return formatted(value, std::chars_format::fixed, decimals);
}

std::string significant(double value, int digits) {
    return formatted(value, std::chars_format::general, digits);
}

std::string human_bytes(int64_t bytes) {
    static constexpr std::array<const char*, 6> units = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    double value = static_cast<double>(bytes);
    if (std::fabs(value) < 1024) return std::to_string(bytes) + " B";
    size_t unit = 0;
    value /= 1024;
    // 1023.95 would print as 1024.0.
    while (std::fabs(value) >= 1023.95 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return fixed(value, 1) + units[unit];
}

std::string human_count(double count) {
    static constexpr std::array<const char*, 5> units = {" k", " M", " G", " T", " P"};
    if (!std::isfinite(count)) return shortest(count);
    if (count < 0) return "-" + human_count(-count);
    if (count < 999.5) return count == std::floor(count) ? fixed(count, 0) : three_digits(count);
    size_t unit = 0;
    count /= 1000;
    while (count >= 999.5 && unit + 1 < units.size()) {
        count /= 1000;
        ++unit;
    }
    return three_digits(count) + units[unit];
}

std::string human_rate(double per_second, std::string_view unit) {
    const std::string count = human_count(per_second);
    return count + " " + std::string(unit) + "/s";
}

std::string human_duration(double seconds) {
    if (!std::isfinite(seconds)) return shortest(seconds);
    if (seconds < 0) return "-" + human_duration(-seconds);
    if (seconds < 9.995) return fixed(seconds, 2) + " s";
    if (seconds < 59.95) return fixed(seconds, 1) + " s";
    if (seconds > 9e15) return significant(seconds, 3) + " s";
    const int64_t whole = std::llround(seconds);
    if (whole < 3600) return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
    const int64_t minutes = std::llround(seconds / 60);
    if (minutes < 24 * 60) return std::to_string(minutes / 60) + " h " + two_digits(minutes % 60) + " min";
    const int64_t hours = std::llround(seconds / 3600);
    return std::to_string(hours / 24) + " d " + two_digits(hours % 24) + " h";
}

std::string percent(double share) {
    return fixed(share * 100, 1) + "%";
}

std::optional<int64_t> parse_integer(std::string_view text) noexcept {
    int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end) return std::nullopt;
    return value;
}

std::optional<double> parse_real(std::string_view text) noexcept {
    // from_chars also takes "nan(7)" and "infinity".
    if (text.find_first_not_of("0123456789.eE+-") != std::string_view::npos && text != "nan" && text != "inf" &&
        text != "-inf") {
        return std::nullopt;
    }
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end) return std::nullopt;
    return value;
}

}  // namespace tenon::base
