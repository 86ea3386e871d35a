#include "tenon/base/toml.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/base/number.h"

namespace tenon::base {

std::string Place::text() const {
    return line > 0 ? file + ":" + std::to_string(line) : file;
}

void fail_at(const Place& place, std::string_view message) {
    throw Error(Code::usage, "config", place.text() + ": " + std::string(message));
}

// ---- TomlValue
// -------------------------------------------------------------------------------------------------------

TomlValue::TomlValue(bool value, Place place, std::string path)
    : kind_(Kind::boolean), value_(value), place_(std::move(place)), path_(std::move(path)) {}
TomlValue::TomlValue(int64_t value, Place place, std::string path)
    : kind_(Kind::integer), value_(value), place_(std::move(place)), path_(std::move(path)) {}
TomlValue::TomlValue(double value, Place place, std::string path)
    : kind_(Kind::real), value_(value), place_(std::move(place)), path_(std::move(path)) {}
TomlValue::TomlValue(std::string value, Place place, std::string path)
    : kind_(Kind::string), value_(std::move(value)), place_(std::move(place)), path_(std::move(path)) {}
TomlValue::TomlValue(Array value, Place place, std::string path)
    : kind_(Kind::array), value_(std::move(value)), place_(std::move(place)), path_(std::move(path)) {}
TomlValue::TomlValue(TomlTable value, Place place, std::string path)
    : kind_(Kind::table),
      value_(std::vector<TomlTable>{std::move(value)}),
      place_(std::move(place)),
      path_(std::move(path)) {}
TomlValue::TomlValue(const TomlValue&) = default;
TomlValue::TomlValue(TomlValue&&) noexcept = default;
TomlValue& TomlValue::operator=(const TomlValue&) = default;
TomlValue& TomlValue::operator=(TomlValue&&) noexcept = default;
TomlValue::~TomlValue() = default;

TomlValue TomlValue::date_time(std::string text, Place place, std::string path) {
    TomlValue value(std::move(text), std::move(place), std::move(path));
    value.kind_ = Kind::date_time;
    return value;
}

std::string_view kind_name(TomlValue::Kind kind) noexcept {
    switch (kind) {
        case TomlValue::Kind::boolean:
            return "true or false";
        case TomlValue::Kind::integer:
            return "an integer";
        case TomlValue::Kind::real:
            return "a number";
        case TomlValue::Kind::string:
            return "a string";
        case TomlValue::Kind::date_time:
            return "a date or time";
        case TomlValue::Kind::array:
            return "an array";
        case TomlValue::Kind::table:
            return "a table";
    }
    return "?";
}

std::string TomlValue::found() const {
    if (kind_ == Kind::date_time) return "the date " + std::get<std::string>(value_);
    if (kind_ == Kind::table) return "a table";
    return describe(json());
}

void TomlValue::fail(std::string_view message) const {
    fail_at(place_, path_ + " " + std::string(message));
}

void TomlValue::expected(std::string_view what) const {
    fail("must be " + std::string(what) + ", found " + found());
}

bool TomlValue::boolean() const {
    if (kind_ != Kind::boolean) expected(kind_name(Kind::boolean));
    return std::get<bool>(value_);
}

int64_t TomlValue::integer() const {
    if (kind_ != Kind::integer) expected(kind_name(Kind::integer));
    return std::get<int64_t>(value_);
}

int64_t TomlValue::integer(int64_t least, int64_t most) const {
    const int64_t value = integer();
    if (value < least || value > most) {
        expected("an integer from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
}

double TomlValue::real() const {
    if (kind_ == Kind::integer) return static_cast<double>(std::get<int64_t>(value_));
    if (kind_ != Kind::real) expected(kind_name(Kind::real));
    return std::get<double>(value_);
}

const std::string& TomlValue::string() const {
    if (kind_ != Kind::string && kind_ != Kind::date_time) expected("a string (in quotes)");
    return std::get<std::string>(value_);
}

const TomlValue::Array& TomlValue::array() const {
    if (kind_ != Kind::array) expected(kind_name(Kind::array));
    return std::get<Array>(value_);
}

const TomlTable& TomlValue::table() const {
    if (kind_ != Kind::table) expected(kind_name(Kind::table));
    return std::get<std::vector<TomlTable>>(value_).front();
}

TomlTable& TomlValue::table() {
    if (kind_ != Kind::table) expected(kind_name(Kind::table));
    return std::get<std::vector<TomlTable>>(value_).front();
}

Json TomlValue::json() const {
    switch (kind_) {
        case Kind::boolean:
            return std::get<bool>(value_);
        case Kind::integer:
            return std::get<int64_t>(value_);
        case Kind::real:
            return std::get<double>(value_);
        case Kind::string:
        case Kind::date_time:
            return std::get<std::string>(value_);
        case Kind::table:
            return table().json();
        case Kind::array:
            break;
    }
    Json elements = Json::array();
    for (const TomlValue& element : array()) elements.push(element.json());
    return elements;
}

// ---- TomlTable
// -------------------------------------------------------------------------------------------------------

const TomlValue* TomlTable::find(std::string_view key) const noexcept {
    for (const Entry& entry : entries_) {
        if (entry.key == key) return &entry.value;
    }
    return nullptr;
}

const TomlTable& TomlTable::section(std::string_view key) const {
    static const TomlTable none;
    const TomlValue* value = find(key);
    return value ? value->table() : none;
}

void TomlTable::set(const std::vector<std::string>& keys, TomlValue value) {
    TomlTable* table = this;
    std::string path = path_;
    for (size_t i = 0; i < keys.size(); ++i) {
        path += (path.empty() ? "" : ".") + keys[i];
        const auto same = [&](const Entry& entry) { return entry.key == keys[i]; };
        const bool last = i + 1 == keys.size();
        auto entry = std::find_if(table->entries_.begin(), table->entries_.end(), same);
        if (last) {
            const Place place = value.place();
            if (entry != table->entries_.end()) {
                *entry = Entry{keys[i], place, std::move(value)};
            } else {
                table->entries_.push_back(Entry{keys[i], place, std::move(value)});
            }
            return;
        }
        if (entry == table->entries_.end()) {
            TomlValue section(TomlTable(value.place(), path), value.place(), path);
            entry = table->entries_.insert(entry, Entry{keys[i], value.place(), std::move(section)});
        } else if (!entry->value.is(TomlValue::Kind::table)) {
            value.fail("cannot be set: " + path + " is " + std::string(kind_name(entry->value.kind())) + " (" +
                       entry->value.place().text() + "), not a table");
        }
        table = &entry->value.table();
    }
}

void TomlTable::only(const std::vector<std::string_view>& known) const {
    for (const Entry& entry : entries_) {
        if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
        const std::string in = path_.empty() ? "" : " in [" + path_ + "]";
        fail_at(entry.place, "unknown key \"" + entry.key + "\"" + in + nearest_hint(entry.key, known));
    }
}

Json TomlTable::json() const {
    Json object = Json::object();
    for (const Entry& entry : entries_) object.set(entry.key, entry.value.json());
    return object;
}

}  // namespace tenon::base
