#include "tenon/base/log.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/base/unicode.h"

namespace tenon::base {

namespace {

// Leaked on purpose: threads may still log while static objects are destroyed.
struct Log {
    std::mutex mutex;
    std::string progress;
    LogLevel level = LogLevel::info;
};

LogLevel parse_log_level(std::string_view name) {
    static const std::vector<std::string_view> names = {"info", "warning", "error", "silent"};
    for (size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) return static_cast<LogLevel>(i);
    }
    throw Error(Code::usage, "log", "unknown level \"" + std::string(name) + "\"" + nearest_hint(name, names));
}

Log& state() {
    static Log* const log = [] {
        auto* made = new Log;
        if (const char* name = std::getenv("TENON_LOG")) {
            try {
                made->level = parse_log_level(name);
            } catch (const Error& error) {
                const std::string line = "warning: TENON_LOG: " + std::string(error.what()) + "\n";
                [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
            }
        }
        return made;
    }();
    return *log;
}

// Nothing can be done about a stderr that fails.
void write_to_stderr(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<size_t>(written));
    }
}

constexpr std::string_view clear_line = "\r\x1b[K";

}  // namespace

void log(LogLevel level, std::string_view text) {
    Log& log = state();
    if (level < log.level || level == LogLevel::silent) return;
    std::string line;
    if (level == LogLevel::warning) line = "warning: ";
    if (level == LogLevel::error) line = "error: ";
    line += text;
    line += '\n';
    const std::lock_guard<std::mutex> lock(log.mutex);
    if (!log.progress.empty()) line = std::string(clear_line) + line + log.progress;
    write_to_stderr(line);
}

namespace {

// As much as one row of the terminal shows: what wraps cannot be cleared.
std::string_view fitting(std::string_view text) {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return text;
    const std::string_view cut = text.substr(0, size.ws_col - 1U);
    return cut.substr(0, static_cast<size_t>(complete_utf8_prefix(cut)));
}

}  // namespace

void set_progress_line(std::string_view text) {
    if (!stderr_is_terminal()) return;
    Log& log = state();
    const std::lock_guard<std::mutex> lock(log.mutex);
    if (text.empty() && log.progress.empty()) return;
    log.progress = fitting(text);
    write_to_stderr(std::string(clear_line) + log.progress);
}

bool stderr_is_terminal() noexcept {
    static const bool terminal = ::isatty(STDERR_FILENO) == 1;
    return terminal;
}

}  // namespace tenon::base
