#include "tenon/base/json.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/base/number.h"

namespace tenon::base {

// ---- JsonObject
// ------------------------------------------------------------------------------------------------------

namespace {

// Up to here a linear search beats hashing.
constexpr size_t few_members = 12;

std::string shortened(std::string_view text) {
    constexpr size_t most = 40;
    if (text.size() <= most) return "\"" + std::string(text) + "\"";
    size_t cut = most;
    while (cut > most - 4 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
    return "\"" + std::string(text.substr(0, cut)) + "…\"";
}

}  // namespace

JsonObject::JsonObject() = default;
JsonObject::JsonObject(const JsonObject&) = default;
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(const JsonObject&) = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
JsonObject::~JsonObject() = default;

JsonObject::JsonObject(std::initializer_list<Member> members) {
    for (const Member& member : members) set(member.first, member.second);
}

int64_t JsonObject::size() const noexcept {
    return static_cast<int64_t>(members_.size());
}

int64_t JsonObject::position(std::string_view key) const noexcept {
    if (slots_.empty()) {
        for (size_t i = 0; i < members_.size(); ++i) {
            if (members_[i].first == key) return static_cast<int64_t>(i);
        }
        return -1;
    }
    const size_t mask = slots_.size() - 1;
    for (size_t slot = std::hash<std::string_view>()(key) & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
        const int64_t found = slots_[slot] - 1;
        if (members_[static_cast<size_t>(found)].first == key) return found;
    }
    return -1;
}

// Enters the last member; at half full the table is made anew with all of them.
void JsonObject::index_last() {
    if (members_.size() <= few_members) return;
    size_t first = members_.size() - 1;
    if (members_.size() * 2 > slots_.size()) {
        size_t slots = 32;
        while (slots < members_.size() * 4) slots *= 2;
        slots_.assign(slots, 0);
        first = 0;
    }
    const size_t mask = slots_.size() - 1;
    for (size_t i = first; i < members_.size(); ++i) {
        size_t slot = std::hash<std::string_view>()(members_[i].first) & mask;
        while (slots_[slot] != 0) slot = (slot + 1) & mask;
        slots_[slot] = static_cast<int64_t>(i) + 1;
    }
}

const Json* JsonObject::find(std::string_view key) const noexcept {
    const int64_t at = position(key);
    return at < 0 ? nullptr : &members_[static_cast<size_t>(at)].second;
}

Json* JsonObject::find(std::string_view key) noexcept {
    const int64_t at = position(key);
    return at < 0 ? nullptr : &members_[static_cast<size_t>(at)].second;
}

Json& JsonObject::set(std::string_view key, Json value) {
    if (Json* existing = find(key)) return *existing = std::move(value);
    members_.emplace_back(std::string(key), std::move(value));
    index_last();
    return members_.back().second;
}

bool JsonObject::insert(std::string_view key, Json value) {
    if (contains(key)) return false;
    members_.emplace_back(std::string(key), std::move(value));
    index_last();
    return true;
}

std::vector<JsonObject::Member>::const_iterator JsonObject::begin() const noexcept {
    return members_.begin();
}
std::vector<JsonObject::Member>::const_iterator JsonObject::end() const noexcept {
    return members_.end();
}

// ---- Json
// ------------------------------------------------------------------------------------------------------------

Json::Json() noexcept : value_(nullptr) {}
Json::Json(std::nullptr_t) noexcept : value_(nullptr) {}
Json::Json(bool value) noexcept : value_(value) {}
Json::Json(std::in_place_t, int64_t value) noexcept : value_(value) {}
Json::Json(double value) noexcept : value_(value) {}
Json::Json(float value) noexcept : value_(static_cast<double>(value)) {}
Json::Json(const char* value) : value_(std::string(value)) {}
Json::Json(std::string_view value) : value_(std::string(value)) {}
Json::Json(std::string value) noexcept : value_(std::move(value)) {}
Json::Json(Array value) noexcept : value_(std::move(value)) {}
Json::Json(Object value) noexcept : value_(std::move(value)) {}
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

int64_t Json::checked(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        throw Error(Code::usage, "json",
                    std::to_string(value) + " does not fit a signed 64-bit integer; write it as a string");
    }
    return static_cast<int64_t>(value);
}

Json Json::array(std::initializer_list<Json> elements) {
    return Json(Array(elements));
}
Json Json::object(std::initializer_list<Member> members) {
    return Json(Object(members));
}

Json::Kind Json::kind() const noexcept {
    return static_cast<Kind>(value_.index());
}

std::string_view kind_name(Json::Kind kind) noexcept {
    switch (kind) {
        case Json::Kind::null:
            return "null";
        case Json::Kind::boolean:
            return "true or false";
        case Json::Kind::integer:
            return "an integer";
        case Json::Kind::real:
            return "a number";
        case Json::Kind::string:
            return "a string";
        case Json::Kind::array:
            return "an array";
        case Json::Kind::object:
            return "an object";
    }
    return "?";
}

std::string describe(const Json& json) {
    switch (json.kind()) {
        case Json::Kind::null:
            return "null";
        case Json::Kind::boolean:
            return json.boolean() ? "true" : "false";
        case Json::Kind::integer:
            return "the integer " + std::to_string(json.integer());
        case Json::Kind::real:
            return "the number " + shortest_real(json.real());
        case Json::Kind::string:
            return "the string " + shortened(json.string());
        case Json::Kind::array:
            return "an array of " + std::to_string(json.size());
        case Json::Kind::object:
            return "an object with " + std::to_string(json.size()) + " members";
    }
    return "?";
}

namespace {

[[noreturn]] void wrong_kind(const Json& json, std::string_view expected) {
    throw Error(Code::file, "json", "expected " + std::string(expected) + ", found " + describe(json));
}

std::optional<double> real_of(const Json& json) {
    if (json.is(Json::Kind::integer)) return static_cast<double>(json.integer());
    if (!json.is(Json::Kind::string)) return std::nullopt;
    const std::string& text = json.string();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

}  // namespace

bool Json::boolean() const {
    if (const bool* value = std::get_if<bool>(&value_)) return *value;
    wrong_kind(*this, kind_name(Kind::boolean));
}

int64_t Json::integer() const {
    if (const int64_t* value = std::get_if<int64_t>(&value_)) return *value;
    wrong_kind(*this, kind_name(Kind::integer));
}

double Json::real() const {
    if (const double* value = std::get_if<double>(&value_)) return *value;
    if (const auto value = real_of(*this)) return *value;
    wrong_kind(*this, kind_name(Kind::real));
}

const std::string& Json::string() const {
    if (const std::string* value = std::get_if<std::string>(&value_)) return *value;
    wrong_kind(*this, kind_name(Kind::string));
}

const Json::Array& Json::array_value() const {
    if (const Array* value = std::get_if<Array>(&value_)) return *value;
    wrong_kind(*this, kind_name(Kind::array));
}

Json::Array& Json::array_value() {
    if (Array* value = std::get_if<Array>(&value_)) return *value;
    wrong_kind(*this, kind_name(Kind::array));
}

const Json::Object& Json::object_value() const {
    if (const Object* value = std::get_if<Object>(&value_)) return *value;
    wrong_kind(*this, kind_name(Kind::object));
}

Json::Object& Json::object_value() {
    if (Object* value = std::get_if<Object>(&value_)) return *value;
    wrong_kind(*this, kind_name(Kind::object));
}

const Json* Json::find(std::string_view key) const noexcept {
    const Object* object = std::get_if<Object>(&value_);
    return object ? object->find(key) : nullptr;
}

const Json& Json::at(std::string_view key) const {
    if (const Json* member = object_value().find(key)) return *member;
    throw Error(Code::file, "json", "member " + shortened(key) + " is missing");
}

const Json& Json::at(int64_t index) const {
    const Array& elements = array_value();
    if (index < 0 || index >= static_cast<int64_t>(elements.size())) {
        throw Error(Code::file, "json",
                    "element " + std::to_string(index) + " of an array of " + std::to_string(elements.size()));
    }
    return elements[static_cast<size_t>(index)];
}

int64_t Json::size() const noexcept {
    if (const Array* array = std::get_if<Array>(&value_)) return static_cast<int64_t>(array->size());
    if (const Object* object = std::get_if<Object>(&value_)) return object->size();
    return 0;
}

Json& Json::set(std::string_view key, Json value) {
    if (is_null()) value_ = Object();
    object_value().set(key, std::move(value));
    return *this;
}

Json& Json::operator[](std::string_view key) {
    if (is_null()) value_ = Object();
    Object& object = object_value();
    if (Json* member = object.find(key)) return *member;
    return object.set(key, Json());
}

Json& Json::push(Json value) {
    if (is_null()) value_ = Array();
    array_value().push_back(std::move(value));
    return *this;
}

bool Json::operator==(const Json& other) const {
    if (kind() != other.kind()) return false;
    if (is(Kind::real)) {
        const double a = std::get<double>(value_), b = std::get<double>(other.value_);
        return a == b || (std::isnan(a) && std::isnan(b));
    }
    if (is(Kind::array)) return array_value() == other.array_value();
    if (is(Kind::object)) {
        const Object &a = object_value(), &b = other.object_value();
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
    switch (kind()) {
        case Kind::boolean:
            return boolean() == other.boolean();
        case Kind::integer:
            return integer() == other.integer();
        case Kind::string:
            return string() == other.string();
        default:
            return true;
    }
}

}  // namespace tenon::base
