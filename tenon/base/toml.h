// Strict TOML 1.0 as a tree in which every value knows its place in the source and its full key, for readers of configs
// that must say where a value came from.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/base/json.h"

namespace tenon::base {

// Where a value was written: a file and line, or an override on the command line.
struct Place {
    std::string file;  // "--set" for an override
    int64_t line = 0;  // from 1; 0 where there are no lines
    int64_t column = 0;
    // "examples/bible.toml:7", "--set"
    std::string text() const;
};

// Throws Error(usage, "config", "<place>: <message>").
[[noreturn]] void fail_at(const Place& place, std::string_view message);

class TomlTable;

class TomlValue {
public:
    enum class Kind { boolean, integer, real, string, date_time, array, table };
    using Array = std::vector<TomlValue>;

    TomlValue(bool value, Place place, std::string path);
    TomlValue(int64_t value, Place place, std::string path);
    TomlValue(double value, Place place, std::string path);
    TomlValue(std::string value, Place place, std::string path);
    TomlValue(Array value, Place place, std::string path);
    TomlValue(TomlTable value, Place place, std::string path);
    static TomlValue date_time(std::string text, Place place, std::string path);

    TomlValue(const TomlValue&);
    TomlValue(TomlValue&&) noexcept;
    TomlValue& operator=(const TomlValue&);
    TomlValue& operator=(TomlValue&&) noexcept;
    ~TomlValue();

    Kind kind() const noexcept { return kind_; }
    bool is(Kind k) const noexcept { return kind_ == k; }
    const Place& place() const noexcept { return place_; }
    const std::string& path() const noexcept { return path_; }  // "optim.learning_rate", "data.files[2]"

    // Throw fail_at(place, "optim.learning_rate must be a number, found the string \"fast\""). real() takes an integer.
    bool boolean() const;
    int64_t integer() const;
    int64_t integer(int64_t least, int64_t most) const;
    double real() const;
    const std::string& string() const;  // also a date's text
    const Array& array() const;
    const TomlTable& table() const;
    TomlTable& table();

    // The value as JSON; dates as strings.
    Json json() const;
    // fail_at(place(), "<path> <message>").
    [[noreturn]] void fail(std::string_view message) const;

private:
    [[noreturn]] void expected(std::string_view what) const;
    std::string found() const;

    Kind kind_;
    std::variant<bool, int64_t, double, std::string, Array, std::vector<TomlTable>>
        value_;  // a table is a vector of one
    Place place_;
    std::string path_;
};

// Keys in the order of the source.
class TomlTable {
public:
    struct Entry {
        std::string key;
        Place place;  // of the key
        TomlValue value;
    };

    TomlTable() = default;
    TomlTable(Place place, std::string path) : place_(std::move(place)), path_(std::move(path)) {}

    const Place& place() const noexcept { return place_; }
    const std::string& path() const noexcept { return path_; }  // "" for the document
    int64_t size() const noexcept { return static_cast<int64_t>(entries_.size()); }
    const std::vector<Entry>& entries() const noexcept { return entries_; }

    const TomlValue* find(std::string_view key) const noexcept;
    // The table under `key`; an empty one where there is none. Another kind of value there is an error.
    const TomlTable& section(std::string_view key) const;

    // Replaces or adds, making tables on the way. A value where a table is needed is an error at the new value's place.
    void set(const std::vector<std::string>& keys, TomlValue value);

    // A key outside `known` is an error at its place, with the nearest known key.
    void only(const std::vector<std::string_view>& known) const;
    Json json() const;

private:
    Place place_;
    std::string path_;
    std::vector<Entry> entries_;
};

// `file` is named in places and errors. Broken TOML throws Error(usage, "config", "file:line: …"). At most 16 MiB.
TomlTable parse_toml(std::string_view text, std::string_view file);
// Reads and parses the file; a missing one is Error(file).
TomlTable read_toml(const std::string& path);

struct TomlOverride {
    std::vector<std::string> keys;
    TomlValue value;
};

// "optim.learning_rate=3e-4": a dotted key, then a value in TOML's syntax; what is no TOML value and does not begin
// like a string, array or inline table ("my.txt", "adamw") is taken as a plain string.
TomlOverride parse_override(std::string_view text);

std::string_view kind_name(TomlValue::Kind kind) noexcept;

}  // namespace tenon::base
