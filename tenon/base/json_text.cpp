// JSON to text and back. The parser is nlohmann's, driven as a stream of events so that order and integers survive.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/base/json.h"
#include "tenon/base/number.h"
#include "tenon/base/unicode.h"

namespace tenon::base {

namespace {

// ---- Writing
// ---------------------------------------------------------------------------------------------------------

void append_quoted(std::string& out, std::string_view text) {
    if (const int64_t bad = first_invalid_utf8(text); bad >= 0) {
        throw Error(Code::failed, "json", "a string to be written is not UTF-8 (byte " + std::to_string(bad) + ")");
    }
    static constexpr char digits[] = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\b':
                out += "\\b";
                break;
            case '\f':
                out += "\\f";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    out += "\\u00";
                    out += digits[c >> 4];
                    out += digits[c & 15];
                } else {
                    out += c;
                }
        }
    }
    out += '"';
}

void append_scalar(std::string& out, const Json& json) {
    switch (json.kind()) {
        case Json::Kind::boolean:
            out += json.boolean() ? "true" : "false";
            break;
        case Json::Kind::integer:
            out += std::to_string(json.integer());
            break;
        case Json::Kind::real: {
            const std::string text = shortest_real(json.real());
            out += std::isfinite(json.real()) ? text : "\"" + text + "\"";
            break;
        }
        case Json::Kind::string:
            append_quoted(out, json.string());
            break;
        default:
            out += "null";
    }
}

void append_compact(std::string& out, const Json& json) {
    if (json.is(Json::Kind::array)) {
        out += '[';
        bool first = true;
        for (const Json& element : json.array_value()) {
            if (!first) out += ',';
            first = false;
            append_compact(out, element);
        }
        out += ']';
    } else if (json.is(Json::Kind::object)) {
        out += '{';
        bool first = true;
        for (const auto& [key, value] : json.object_value()) {
            if (!first) out += ',';
            first = false;
            append_quoted(out, key);
            out += ':';
            append_compact(out, value);
        }
        out += '}';
    } else {
        append_scalar(out, json);
    }
}

bool is_container(const Json& json) {
    return json.is(Json::Kind::array) || json.is(Json::Kind::object);
}

void append_pretty(std::string& out, const Json& json, size_t indent) {
    const auto new_line = [&](size_t spaces) { out.append(1, '\n').append(spaces, ' '); };
    if (!is_container(json) || json.size() == 0) return append_compact(out, json);
    bool first = true;
    if (json.is(Json::Kind::array)) {
        const Json::Array& elements = json.array_value();
        const bool one_line = std::none_of(elements.begin(), elements.end(), is_container);
        out += '[';
        for (const Json& element : elements) {
            if (!first) out += one_line ? ", " : ",";
            first = false;
            if (!one_line) new_line(indent + 2);
            append_pretty(out, element, indent + 2);
        }
        if (!one_line) new_line(indent);
        out += ']';
        return;
    }
    out += '{';
    for (const auto& [key, value] : json.object_value()) {
        if (!first) out += ',';
        first = false;
        new_line(indent + 2);
        append_quoted(out, key);
        out += ": ";
        append_pretty(out, value, indent + 2);
    }
    new_line(indent);
    out += '}';
}

// ---- Reading
// ---------------------------------------------------------------------------------------------------------

// Tells how far the parser has read; its events do not.
class Cursor {
public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
    const char& operator*() const { return *at_; }
    Cursor& operator++() {
        *furthest_ = ++at_;
        return *this;
    }
    Cursor operator++(int) {
        const Cursor before = *this;
        ++*this;
        return before;
    }
    bool operator==(const Cursor& other) const { return at_ == other.at_; }
    bool operator!=(const Cursor& other) const { return at_ != other.at_; }

private:
    const char* at_;
    const char** furthest_;
};

// Builds the tree from the parser's events. open_ holds the containers that are not closed yet, outermost first.
class Builder {
public:
    Builder(std::string_view text, std::string_view where, JsonLimits limits)
        : text_(text), where_(where), limits_(limits), furthest(text.data()) {}

    bool null() { return add(Json()); }
    bool boolean(bool value) { return add(Json(value)); }
    bool number_integer(int64_t value) { return add(Json(value)); }
    bool number_unsigned(uint64_t value) {
        return value > static_cast<uint64_t>(INT64_MAX) ? add(Json(static_cast<double>(value)))
                                                        : add(Json(static_cast<int64_t>(value)));
    }
    bool number_float(double value, const std::string&) { return add(Json(value)); }
    bool string(std::string& value) { return add(Json(std::move(value))); }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool start_object(size_t) { return open(Json(Json::Object())); }
    bool start_array(size_t) { return open(Json(Json::Array())); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(std::string& name) {
        if (open_.back().value.object_value().contains(name))
            fail_here("the key " + describe(name) + " is there twice");
        open_.back().key = std::move(name);
        return true;
    }
    bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error) {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing …"
        std::string message = error.what();
        if (const size_t colon = message.find(": "); colon != std::string::npos) message.erase(0, colon + 2);
        if (const size_t note = message.find("syntax error "); note == 0) message.erase(0, 13);
        fail_at(position > 0 ? position - 1 : 0, "broken JSON " + message);
    }

    Json result() { return std::move(*whole_); }

private:
    struct Open {
        Json value;
        std::string key;  // of the member to come
    };

    static std::string describe(const std::string& key) { return tenon::base::describe(Json(key)).substr(11); }

    bool add(Json value) {
        if (open_.empty()) {
            whole_ = std::move(value);
        } else if (Json& container = open_.back().value; container.is(Json::Kind::array)) {
            container.array_value().push_back(std::move(value));
        } else {
            container.object_value().set(open_.back().key, std::move(value));
        }
        return true;
    }

    bool open(Json container) {
        if (static_cast<int64_t>(open_.size()) >= limits_.depth) {
            fail_here("nested deeper than " + std::to_string(limits_.depth) + " levels");
        }
        open_.push_back({std::move(container), {}});
        return true;
    }

    bool close() {
        Json done = std::move(open_.back().value);
        open_.pop_back();
        return add(std::move(done));
    }

    [[noreturn]] void fail_here(const std::string& message) const {
        const auto read = static_cast<size_t>(furthest - text_.data());
        fail_at(read > 0 ? read - 1 : 0, message);
    }

    [[noreturn]] void fail_at(size_t offset, const std::string& message) const {
        const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
        const auto line = 1 + std::count(before.begin(), before.end(), '\n');
        const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
        const int64_t column = 1 + count_characters(before.substr(start));
        throw Error(Code::file, "json",
                    std::string(where_) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message);
    }

    std::string_view text_, where_;
    JsonLimits limits_;
    std::vector<Open> open_;
    std::optional<Json> whole_;

public:
    const char* furthest;
};

}  // namespace

std::string Json::dump() const {
    std::string out;
    append_compact(out, *this);
    return out;
}

std::string Json::pretty() const {
    std::string out;
    append_pretty(out, *this, 0);
    return out;
}

Json parse_json(std::string_view text, std::string_view where, JsonLimits limits) {
    if (static_cast<int64_t>(text.size()) > limits.bytes) {
        throw Error(Code::file, "json",
                    std::string(where) + ": " + human_bytes(static_cast<int64_t>(text.size())) + " of JSON; at most " +
                        human_bytes(limits.bytes) + " are read");
    }
    Builder builder(text, where, limits);
    nlohmann::json::sax_parse(Cursor(text.data(), &builder.furthest),
                              Cursor(text.data() + text.size(), &builder.furthest), &builder);
    return builder.result();
}

}  // namespace tenon::base
