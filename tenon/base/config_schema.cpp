#include "tenon/base/config_schema.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/base/number.h"

namespace tenon::base {

namespace {

Json read_value(const TomlValue& value, ConfigType type) {
    switch (type) {
        case ConfigType::boolean:
            return value.boolean();
        case ConfigType::integer:
            return value.integer();
        case ConfigType::real:
            return value.real();
        case ConfigType::string:
            return value.string();
    }
    return {};
}

void check_range(const TomlValue& value, const ConfigKey& key) {
    if (key.type != ConfigType::integer && key.type != ConfigType::real) return;
    const double number = value.real();
    if (!std::isfinite(number)) value.fail("is " + shortest(number) + "; it must be finite");
    if (number >= key.least && number <= key.most) return;
    std::string message = "is " + shortest(number) + "; it must be";
    if (key.least > -std::numeric_limits<double>::infinity()) message += " at least " + shortest(key.least);
    if (key.most < std::numeric_limits<double>::infinity()) {
        message +=
            (key.least > -std::numeric_limits<double>::infinity() ? " and at most " : " at most ") + shortest(key.most);
    }
    value.fail(message);
}

void check_choice(const TomlValue& value, const ConfigKey& key) {
    if (key.choices.empty()) return;
    const std::string& text = value.string();
    if (std::find(key.choices.begin(), key.choices.end(), text) != key.choices.end()) return;
    std::string all;
    for (const std::string_view choice : key.choices) all += (all.empty() ? "" : ", ") + std::string(choice);
    value.fail("is \"" + text + "\"; it must be one of " + all);
}

}  // namespace

ConfigSection::ConfigSection(std::string_view name, const TomlTable& table, const std::vector<ConfigKey>& keys)
    : name_(name) {
    std::vector<std::string_view> known;
    for (const ConfigKey& key : keys) {
        known.push_back(key.name);
        if (!key.alias.empty()) known.push_back(key.alias);
    }
    table.only(known);
    for (const ConfigKey& key : keys) {
        const TomlValue* given = table.find(key.name);
        const TomlValue* by_alias = key.alias.empty() ? nullptr : table.find(key.alias);
        if (given != nullptr && by_alias != nullptr) {
            by_alias->fail("is another name of " + std::string(key.name) + ", which is given too");
        }
        if (given == nullptr) given = by_alias;
        if (given == nullptr) {
            if (key.required) {
                fail_at(table.place(),
                        "[" + name_ + "] needs the key \"" + std::string(key.name) + "\": " + std::string(key.doc));
            }
            values_.emplace_back(key.name, Value{key.fallback, "default", table.place()});
            continue;
        }
        Json value = read_value(*given, key.type);
        check_range(*given, key);
        check_choice(*given, key);
        values_.emplace_back(key.name, Value{std::move(value), given->place().text(), given->place()});
    }
}

const ConfigSection::Value& ConfigSection::find(std::string_view key) const {
    for (const auto& [name, value] : values_) {
        if (name == key) return value;
    }
    throw Error(Code::failed, "config", "the program asked for an unknown key " + name_ + "." + std::string(key));
}

bool ConfigSection::boolean(std::string_view key) const {
    return find(key).value.boolean();
}
int64_t ConfigSection::integer(std::string_view key) const {
    return find(key).value.integer();
}
double ConfigSection::real(std::string_view key) const {
    return find(key).value.real();
}
const std::string& ConfigSection::string(std::string_view key) const {
    return find(key).value.string();
}
bool ConfigSection::has(std::string_view key) const {
    return !find(key).value.is_null();
}

void ConfigSection::decide(std::string_view key, Json value, std::string_view why) {
    for (auto& [name, entry] : values_) {
        if (name != key) continue;
        entry.value = std::move(value);
        entry.origin = why;
        return;
    }
}

void ConfigSection::fail(std::string_view key, std::string_view message) const {
    const Value& value = find(key);
    fail_at(value.place, name_ + "." + std::string(key) + " " + std::string(message));
}

Json ConfigSection::values_json() const {
    Json object = Json::object();
    for (const auto& [name, value] : values_) object.set(name, value.value);
    return object;
}

Json ConfigSection::origins_json() const {
    Json object = Json::object();
    for (const auto& [name, value] : values_) object.set(name, value.origin);
    return object;
}

}  // namespace tenon::base
