// TOML text to our tree. The parser is toml++ (TOML 1.0, without its extensions).
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/number.h"
#include "tenon/base/toml.h"
#include "tenon/base/unicode.h"

namespace tenon::base {

namespace {

constexpr int64_t most_bytes = int64_t{16} << 20;
constexpr int64_t most_levels = 128;

// toml++ limits brackets but not dots: "a.b.c.d…" makes a level each, and it walks and destroys tables by recursion. So
// depth is measured before it parses: the first line on which brackets and dots together exceed the limit, or 0.
class DepthScan {
public:
    explicit DepthScan(std::string_view text) : text_(text) {}

    int64_t first_too_deep_line() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"' || c == '\'') {
                skip_string(c);
                continue;
            }
            if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
            if (at_ == text_.size()) break;
            if (!step(text_[at_])) return line_;
            ++at_;
        }
        return 0;
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
        return depth_ + dots_ <= most_levels;
    }

    void skip_string(char quote) {
        const std::string three(3, quote);
        const bool many_lines = text_.substr(at_, 3) == three;
        at_ += many_lines ? 3 : 1;
        while (at_ < text_.size()) {
            if (many_lines ? text_.substr(at_, 3) == three : text_[at_] == quote || text_[at_] == '\n') break;
            if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
            line_ += text_[at_] == '\n';
            ++at_;
        }
        if (many_lines) {
            while (at_ < text_.size() && text_[at_] == quote) ++at_;  // two quotes may stand before the closing three
        } else if (at_ < text_.size() && text_[at_] == quote) {
            ++at_;
        }
    }

    std::string_view text_;
    size_t at_ = 0;
    int64_t line_ = 1, depth_ = 0, dots_ = 0;
    std::vector<int64_t> outer_;
};

toml::parse_result parse_shallow(std::string_view text, const Place& place) {
    if (const int64_t line = DepthScan(text).first_too_deep_line(); line > 0) {
        fail_at({place.file, place.line > 0 ? line : 0, 0},
                "tables and arrays are nested deeper than " + std::to_string(most_levels) + " levels");
    }
    return toml::parse(text);
}

class Converter {
public:
    explicit Converter(std::string_view file) : file_(file) {}

    TomlTable table(const toml::table& source, Place place, const std::string& path) const {
        struct Member {
            const toml::key* key;
            const toml::node* node;
        };
        std::vector<Member> members;
        for (auto&& [key, node] : source) members.push_back({&key, &node});
        // toml++ sorts by name; the source's order is the user's.
        std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
            return a.key->source().begin < b.key->source().begin;
        });
        TomlTable result(std::move(place), path);
        for (const Member& member : members) {
            const std::string key(member.key->str());
            const Place at = here(member.key->source());
            result.set({key}, value(*member.node, at, path.empty() ? key : path + "." + key));
        }
        return result;
    }

    TomlValue value(const toml::node& node, Place place, const std::string& path) const {
        if (node.is_table()) return TomlValue(table(*node.as_table(), place, path), place, path);
        if (node.is_array()) {
            TomlValue::Array elements;
            for (auto&& element : *node.as_array()) {
                Place at = element.source().begin.line > 0 ? here(element.source()) : place;
                elements.push_back(value(element, at, path + "[" + std::to_string(elements.size()) + "]"));
            }
            return TomlValue(std::move(elements), place, path);
        }
        if (auto* boolean = node.as_boolean()) return TomlValue(boolean->get(), place, path);
        if (auto* integer = node.as_integer()) return TomlValue(integer->get(), place, path);
        if (auto* real = node.as_floating_point()) return TomlValue(real->get(), place, path);
        if (auto* string = node.as_string()) return TomlValue(string->get(), place, path);
        std::ostringstream text;
        if (auto* date = node.as_date()) text << date->get();
        if (auto* time = node.as_time()) text << time->get();
        if (auto* both = node.as_date_time()) text << both->get();
        return TomlValue::date_time(text.str(), place, path);
    }

private:
    Place here(const toml::source_region& region) const {
        return Place{file_, static_cast<int64_t>(region.begin.line), static_cast<int64_t>(region.begin.column)};
    }

    std::string file_;
};

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t") == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// The '=' that ends the key; quotes may hold others.
size_t end_of_key(std::string_view text) {
    char quote = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quote == '"' && c == '\\') {
            ++i;
        } else if (quote) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '=') {
            return i;
        }
    }
    return std::string_view::npos;
}

std::vector<std::string> dotted_keys(std::string_view key, std::string_view whole, const Place& place) {
    const auto refuse = [&]() {
        fail_at(place, "\"" + replace_invalid_utf8(whole) +
                           "\" is not KEY=VALUE with a dotted key, as in --set train.steps=40");
    };
    if (is_blank(key) || key.find_first_of("\n\r#") != std::string_view::npos || !is_utf8(key) || key.size() > 1024)
        refuse();
    toml::parse_result parsed = parse_shallow(std::string(key) + " = 0", place);
    if (!parsed) refuse();
    std::vector<std::string> keys;
    for (const toml::node* node = &parsed.table(); node->is_table();) {
        const auto only = node->as_table()->cbegin();  // owns the pair that *only refers to
        keys.emplace_back(only->first.str());
        node = &only->second;
    }
    return keys;
}

}  // namespace

TomlTable parse_toml(std::string_view text, std::string_view file) {
    const Place place{std::string(file), 1, 1};
    if (static_cast<int64_t>(text.size()) > most_bytes) {
        fail_at(place, human_bytes(static_cast<int64_t>(text.size())) + " of TOML; at most " + human_bytes(most_bytes) +
                           " are read");
    }
    toml::parse_result parsed = parse_shallow(text, place);
    if (!parsed) {
        const auto& error = parsed.error();
        const toml::source_position at = error.source().begin;
        fail_at(Place{std::string(file), static_cast<int64_t>(at.line), static_cast<int64_t>(at.column)},
                "broken TOML at column " + std::to_string(at.column) + ": " + std::string(error.description()));
    }
    return Converter(file).table(parsed.table(), place, "");
}

TomlTable read_toml(const std::string& path) {
    return parse_toml(read_file(path, most_bytes), path);
}

TomlOverride parse_override(std::string_view text) {
    const Place place{"--set", 0, 0};
    const size_t equals = end_of_key(text);
    const std::vector<std::string> keys = dotted_keys(text.substr(0, equals), text, place);
    if (equals == std::string_view::npos) {
        fail_at(place, "\"" + std::string(text) + "\" has no value; write --set " + std::string(text) + "=VALUE");
    }
    std::string path;
    for (const std::string& key : keys) path += (path.empty() ? "" : ".") + key;
    const std::string value(trimmed(text.substr(equals + 1)));
    if (value.empty()) fail_at(place, path + " has no value; an empty string is \"\"");
    if (const int64_t bad = first_invalid_utf8(value); bad >= 0) fail_at(place, path + " is not UTF-8");
    toml::parse_result parsed = parse_shallow("v = " + value, place);
    // A comment or a second line behind the value is part of a plain string, not to be dropped.
    const bool whole =
        parsed && parsed.table().size() == 1 && parsed.table().get("v") &&
        parsed.table().get("v")->source().end.line == 1 &&
        static_cast<int64_t>(parsed.table().get("v")->source().end.column) == 5 + count_characters(value);
    if (whole) {
        return {keys, Converter(place.file).value(*parsed.table().get("v"), place, path)};
    }
    if (std::string_view("\"'[{").find(value.front()) != std::string_view::npos) {
        fail_at(place, path + " is not a TOML value: " + value +
                           (parsed ? "" : " (" + std::string(parsed.error().description()) + ")"));
    }
    return {keys, TomlValue(value, place, path)};
}

}  // namespace tenon::base
