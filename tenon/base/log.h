// Log lines on stderr; results go to stdout. Each line is one write, so threads do not mix within one.
#pragma once

#include <string>
#include <string_view>

namespace tenon::base {

enum class LogLevel { debug, info, warning, error, silent };

// Lines below the level are dropped. The default is info, or what TENON_LOG names at the first use.
void set_log_level(LogLevel level) noexcept;
LogLevel log_level() noexcept;
LogLevel parse_log_level(std::string_view name);  // "debug", "info", "warning", "error", "silent"; else Error(usage)

// info prints the text alone, the others "debug: ", "warning: ", "error: " before it. A final newline is added.
void log(LogLevel level, std::string_view text);
inline void log_debug(std::string_view text) {
    log(LogLevel::debug, text);
}
inline void log_info(std::string_view text) {
    log(LogLevel::info, text);
}
inline void log_warning(std::string_view text) {
    log(LogLevel::warning, text);
}
inline void log_error(std::string_view text) {
    log(LogLevel::error, text);
}

// True for the first caller with this key in the process: if (once("no-hugepages")) log_warning(…).
bool once(std::string_view key);

// One line that the next replaces, on a terminal; dropped elsewhere. Any log line clears it first and draws it again.
// An empty text ends it.
void set_progress_line(std::string_view text);
bool stderr_is_terminal() noexcept;

}  // namespace tenon::base
