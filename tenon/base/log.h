// Log lines on stderr; results go to stdout. Each line is one write, so threads do not mix within one.
#pragma once

#include <string>
#include <string_view>

namespace tenon::base {

enum class LogLevel { info, warning, error, silent };

// info prints the text alone, the others "warning: ", "error: " before it. A final newline is added. Lines below the
// level that TENON_LOG names at the first use are dropped; without it none is.
void log(LogLevel level, std::string_view text);
inline void log_info(std::string_view text) {
    log(LogLevel::info, text);
}
inline void log_warning(std::string_view text) {
    log(LogLevel::warning, text);
}
inline void log_error(std::string_view text) {
    log(LogLevel::error, text);
}

// One line that the next replaces, on a terminal; dropped elsewhere. Any log line clears it first and draws it again.
// An empty text ends it.
void set_progress_line(std::string_view text);
bool stderr_is_terminal() noexcept;

}  // namespace tenon::base
