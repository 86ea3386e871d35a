#include "tenon/base/toml_scan.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tenon/base/unicode.h"

namespace tenon::base {

namespace {

class Scan {
public:
    explicit Scan(std::string_view text) : text_(text) {
        if (text.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;  // a byte order mark: some editors put one
    }

    std::optional<TomlFault> run() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"' || c == '\'') {
                if (!skip_string(c)) return std::nullopt;  // never ends: toml++ stops here and says so
                continue;
            }
            if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
            if (at_ == text_.size()) break;
            if (static_cast<unsigned char>(text_[at_]) >= 0x80) return foreign_character();
            if (!step(text_[at_])) {
                return TomlFault{
                    line_, "tables and arrays are nested deeper than " + std::to_string(most_toml_levels) + " levels"};
            }
            ++at_;
        }
        return std::nullopt;
    }

private:
    // False where it goes too deep. Quoted keys neither add to a run of dots nor end it.
    bool step(char c) {
        if (c == '.') {
            ++dots_;
        } else if (c == '[' || c == '{') {
            outer_.push_back(dots_ + 1);
            depth_ += outer_.back();
            dots_ = 0;
        } else if ((c == ']' || c == '}') && !outer_.empty()) {
            depth_ -= outer_.back();
            outer_.pop_back();
            dots_ = 0;
        } else if (c == ',' || c == '\n') {
            dots_ = 0;
        }
        line_ += c == '\n';
        return depth_ + dots_ <= most_toml_levels;
    }

    bool skip_string(char quote) {
        const std::string three(3, quote);
        const bool many_lines = text_.substr(at_, 3) == three;
        at_ += many_lines ? 3 : 1;
        while (at_ < text_.size()) {
            if (many_lines ? text_.substr(at_, 3) == three : text_[at_] == quote) break;
            if (!many_lines && text_[at_] == '\n') return false;
            if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
            line_ += text_[at_] == '\n';
            ++at_;
        }
        if (at_ >= text_.size()) return false;
        at_ += many_lines ? 3 : 1;
        // Up to two quotes may stand before the closing three.
        for (int more = 0; many_lines && more < 2 && at_ < text_.size() && text_[at_] == quote; ++more) ++at_;
        return true;
    }

    std::optional<TomlFault> foreign_character() const {
        const CodePoint point = decode_utf8(text_, static_cast<int64_t>(at_));
        if (point.bytes == 0) return std::nullopt;  // no UTF-8: toml++ says so
        char name[16];
        std::snprintf(name, sizeof(name), "U+%04X", static_cast<unsigned>(point.value));
        return TomlFault{line_, "broken TOML: the character " + std::string(name) +
                                    " stands outside a string; TOML has only ASCII there (put it in quotes)"};
    }

    std::string_view text_;
    size_t at_ = 0;
    int64_t line_ = 1, depth_ = 0, dots_ = 0;
    std::vector<int64_t> outer_;
};

}  // namespace

std::optional<TomlFault> first_toml_fault(std::string_view text) {
    return Scan(text).run();
}

}  // namespace tenon::base
