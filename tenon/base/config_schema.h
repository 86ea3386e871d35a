// A section of a config with typed, documented keys: what it may hold, what stands in it, and where each value is from.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/base/toml.h"

namespace tenon::base {

enum class ConfigType { boolean, integer, real, string };

struct ConfigKey {
    std::string_view name;
    ConfigType type = ConfigType::integer;
    // Null: none, the program decides (its doc says how); a value that must be given has required set.
    Json fallback = {};
    std::string_view doc = {};
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    std::vector<std::string_view> choices = {};
    bool required = false;
    // Another spelling of the same key; giving both is an error.
    std::string_view alias = {};
};

// The values of one section after defaults.
class ConfigSection {
public:
    struct Value {
        Json value;
        std::string origin;  // "default", "examples/bible.toml:7", "--set"
        Place place;
    };

    // Checks every key of the table: unknown (nearest named), doubled by its alias, of a wrong type, out of range or
    // not among the choices is an error at its place; so is a required key left out.
    ConfigSection(std::string_view name, const TomlTable& table, const std::vector<ConfigKey>& keys);

    bool boolean(std::string_view key) const;
    int64_t integer(std::string_view key) const;
    double real(std::string_view key) const;
    const std::string& string(std::string_view key) const;
    bool has(std::string_view key) const;  // false where the value is null

    // Replaces a null by what the program decided; the origin then says so.
    void decide(std::string_view key, Json value, std::string_view why);
    // "[config] examples/bible.toml:7: model.hidden_size <message>".
    [[noreturn]] void fail(std::string_view key, std::string_view message) const;

    const std::string& name() const { return name_; }
    const std::vector<std::pair<std::string, Value>>& values() const { return values_; }
    // {"key": value, …} in the order of the keys; and {"key": origin, …}.
    Json values_json() const;
    Json origins_json() const;

private:
    const Value& find(std::string_view key) const;

    std::string name_;
    std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace tenon::base
