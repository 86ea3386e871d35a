#include "tenon/base/error.h"
#include "tenon/base/json.h"
#include "tenon/base/nearest.h"

namespace tenon::base {

namespace {

// ".key", or ["a.b"] where a dot would mislead.
std::string step(std::string_view key) {
    const bool plain = !key.empty() && key.find_first_not_of(
                                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789_-") == std::string_view::npos;
    return plain ? "." + std::string(key) : "[" + Json(key).dump() + "]";
}

std::string step(int64_t index) {
    return "[" + std::to_string(index) + "]";
}

}  // namespace

JsonReader::JsonReader(const Json& document, std::string_view where, std::string_view op)
    : JsonReader(document, std::string(where), std::string(op), "$") {}

JsonReader::JsonReader(const Json& json, std::string where, std::string op, std::string path)
    : json_(&json), where_(std::move(where)), op_(std::move(op)), path_(std::move(path)) {}

void JsonReader::fail(std::string_view message) const {
    throw Error(Code::file, op_, where_ + ": " + path_ + ": " + std::string(message));
}

void JsonReader::expected(std::string_view what) const {
    fail("expected " + std::string(what) + ", found " + describe(*json_));
}

const Json& JsonReader::must_be(Json::Kind kind) const {
    if (!json_->is(kind)) expected(kind_name(kind));
    return *json_;
}

JsonReader JsonReader::operator[](std::string_view key) const {
    const Json* member = must_be(Json::Kind::object).find(key);
    if (!member) {
        std::vector<std::string> keys;
        for (const auto& [name, value] : json_->object_value()) keys.push_back(name);
        const std::string near = nearest(key, keys);
        fail("member \"" + std::string(key) + "\" is missing" + (near.empty() ? "" : "; nearest is \"" + near + "\""));
    }
    return JsonReader(*member, where_, op_, path_ + step(key));
}

JsonReader JsonReader::operator[](int64_t index) const {
    const Json::Array& elements = must_be(Json::Kind::array).array_value();
    if (index < 0 || index >= static_cast<int64_t>(elements.size())) {
        fail("element " + std::to_string(index) + " is missing, there are " + std::to_string(elements.size()));
    }
    return JsonReader(elements[static_cast<size_t>(index)], where_, op_, path_ + step(index));
}

std::optional<JsonReader> JsonReader::optional(std::string_view key) const {
    const Json* member = must_be(Json::Kind::object).find(key);
    if (!member || member->is_null()) return std::nullopt;
    return JsonReader(*member, where_, op_, path_ + step(key));
}

bool JsonReader::boolean() const {
    return must_be(Json::Kind::boolean).boolean();
}

int64_t JsonReader::integer() const {
    return must_be(Json::Kind::integer).integer();
}

int64_t JsonReader::integer(int64_t least, int64_t most) const {
    const int64_t value = integer();
    if (value < least || value > most) {
        expected("an integer from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
}

double JsonReader::real() const {
    try {
        return json_->real();
    } catch (const Error&) {
        expected(kind_name(Json::Kind::real));
    }
}

const std::string& JsonReader::string() const {
    return must_be(Json::Kind::string).string();
}

std::vector<int64_t> JsonReader::integers() const {
    std::vector<int64_t> values;
    for (const JsonReader& element : elements()) values.push_back(element.integer());
    return values;
}

std::vector<JsonReader> JsonReader::elements() const {
    std::vector<JsonReader> readers;
    for (const Json& element : must_be(Json::Kind::array).array_value()) {
        const auto index = static_cast<int64_t>(readers.size());
        readers.push_back(JsonReader(element, where_, op_, path_ + step(index)));
    }
    return readers;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
    std::vector<std::pair<std::string, JsonReader>> readers;
    for (const auto& [key, value] : must_be(Json::Kind::object).object_value()) {
        readers.emplace_back(key, JsonReader(value, where_, op_, path_ + step(key)));
    }
    return readers;
}

int64_t JsonReader::size() const {
    if (!json_->is(Json::Kind::array)) must_be(Json::Kind::object);
    return json_->size();
}

void JsonReader::only(std::initializer_list<std::string_view> known) const {
    const std::vector<std::string_view> names(known);
    for (const auto& [key, value] : must_be(Json::Kind::object).object_value()) {
        bool is_known = false;
        for (std::string_view name : names) is_known = is_known || name == key;
        if (!is_known) fail("unknown member \"" + key + "\"" + nearest_hint(key, names));
    }
}

int64_t JsonReader::format(int64_t newest) const {
    const JsonReader format = (*this)["format"];
    const int64_t value = format.integer();
    if (value < 1) format.fail("format " + std::to_string(value) + " does not exist; formats count from 1");
    if (value > newest) {
        throw Error(Code::refused, op_,
                    where_ + ": format " + std::to_string(value) + " is newer than this program, which reads up to " +
                        std::to_string(newest) + "; use a newer tenon");
    }
    return value;
}

}  // namespace tenon::base
