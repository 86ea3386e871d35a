// JSON values of our own: members keep their order, integers stay exact, floats survive a round trip bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tenon::base {

class Json;

// Members in insertion order, found by hash once there are more than a few. Keys are unique.
class JsonObject {
public:
    using Member = std::pair<std::string, Json>;

    JsonObject();
    JsonObject(std::initializer_list<Member> members);
    JsonObject(const JsonObject&);
    JsonObject(JsonObject&&) noexcept;
    JsonObject& operator=(const JsonObject&);
    JsonObject& operator=(JsonObject&&) noexcept;
    ~JsonObject();

    int64_t size() const noexcept;
    bool empty() const noexcept { return size() == 0; }
    const Json* find(std::string_view key) const noexcept;
    Json* find(std::string_view key) noexcept;
    bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }

    // Replaces the value of an existing key (its position stays), else adds the member at the end.
    Json& set(std::string_view key, Json value);
    // Adds a member; false, and nothing changes, where the key exists.
    bool insert(std::string_view key, Json value);

    std::vector<Member>::const_iterator begin() const noexcept;
    std::vector<Member>::const_iterator end() const noexcept;

private:
    int64_t position(std::string_view key) const noexcept;
    void index_last();

    std::vector<Member> members_;
    std::vector<int64_t> slots_;  // open addressing, position + 1, 0 is free; empty while the object is small
};

class Json {
public:
    enum class Kind { null, boolean, integer, real, string, array, object };
    using Array = std::vector<Json>;
    using Object = JsonObject;
    using Member = JsonObject::Member;

    Json() noexcept;
    Json(std::nullptr_t) noexcept;
    Json(bool value) noexcept;
    // Any integer type; an unsigned value above 2^63 - 1 is an error (write it as a string).
    template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
    Json(T value) : Json(std::in_place, integer_from(value)) {}
    Json(double value) noexcept;
    Json(float value) noexcept;  // the float's value as a double
    Json(const char* value);
    Json(std::string_view value);
    Json(std::string value) noexcept;
    Json(Array value) noexcept;
    Json(Object value) noexcept;
    template <class T, std::enable_if_t<!std::is_same_v<T, Json>, int> = 0>
    Json(const std::vector<T>& values) : Json(Array(values.begin(), values.end())) {}
    Json(const Json&);
    Json(Json&&) noexcept;
    Json& operator=(const Json&);
    Json& operator=(Json&&) noexcept;
    ~Json();

    static Json array(std::initializer_list<Json> elements = {});
    static Json object(std::initializer_list<Member> members = {});

    Kind kind() const noexcept;
    bool is(Kind k) const noexcept { return kind() == k; }
    bool is_null() const noexcept { return is(Kind::null); }

    // Throw Error(file, "json") that says what was expected and what was found. real() takes an integer too, and the
    // strings "nan", "inf", "-inf", which is how dump() writes those values.
    bool boolean() const;
    int64_t integer() const;
    double real() const;
    const std::string& string() const;
    const Array& array_value() const;
    Array& array_value();
    const Object& object_value() const;
    Object& object_value();

    // A member or an element that must exist.
    const Json& at(std::string_view key) const;
    const Json& at(int64_t index) const;
    // A member or nullptr; nullptr as well where this is not an object.
    const Json* find(std::string_view key) const noexcept;
    // Elements of an array, members of an object; 0 for other kinds.
    int64_t size() const noexcept;

    // Building: a null becomes an object or an array on first use.
    Json& set(std::string_view key, Json value);  // returns *this
    Json& operator[](std::string_view key);       // adds a null where the key is new
    Json& push(Json value);                       // returns *this

    // Objects are equal where members and their order are; integer 1 differs from real 1.0; nan equals nan.
    bool operator==(const Json& other) const;
    bool operator!=(const Json& other) const { return !(*this == other); }

    // Compact: no spaces. Floats are the shortest text that reads back as the same double and always have a '.' or an
    // exponent; nan and infinities become strings. Text must be UTF-8, else Error. Control characters are escaped.
    std::string dump() const;
    // Two spaces a level, one member a line, arrays without arrays or objects inside on one line; ends without a
    // newline.
    std::string pretty() const;

private:
    using Value = std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object>;
    Json(std::in_place_t, int64_t value) noexcept;
    template <class T>
    static int64_t integer_from(T value) {
        if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
            return checked(static_cast<uint64_t>(value));
        } else {
            return static_cast<int64_t>(value);
        }
    }
    static int64_t checked(uint64_t value);

    Value value_;
};

struct JsonLimits {
    int64_t bytes = int64_t{256} << 20;
    int64_t depth = 256;
};

// One JSON value and nothing after it (RFC 8259, UTF-8). `where` (a file's name) opens every error, followed by line
// and column (in characters, from 1). Doubled keys, too deep nesting and texts above the limit are errors. A whole
// number outside int64 becomes a real, as in every reader that keeps numbers as doubles.
Json parse_json(std::string_view text, std::string_view where, JsonLimits limits = {});

// "an integer", "a string", …
std::string_view kind_name(Json::Kind kind) noexcept;
// "the integer 3", "the string \"x\"" (cut after 40 bytes), "an array of 5": what an error says was found.
std::string describe(const Json& json);

// Reads a document that others wrote: a value with the name of its file and its path within, so that every error says
//   [checkpoint] runs/a/manifest.json: $.tensors[3].shape: expected an array, found the string "4"
// It refers to the document, which must outlive it.
class JsonReader {
public:
    JsonReader(const Json& document, std::string_view where, std::string_view op = "json");

    const Json& json() const noexcept { return *json_; }
    const std::string& path() const noexcept { return path_; }
    Json::Kind kind() const noexcept { return json_->kind(); }
    bool is_null() const noexcept { return json_->is_null(); }

    JsonReader operator[](std::string_view key) const;  // must exist; the error names the nearest key there is
    JsonReader operator[](int64_t index) const;
    std::optional<JsonReader> optional(std::string_view key) const;  // absent and null are both nullopt

    bool boolean() const;
    int64_t integer() const;
    int64_t integer(int64_t least, int64_t most) const;  // and within [least, most]
    double real() const;
    const std::string& string() const;
    std::vector<int64_t> integers() const;
    std::vector<JsonReader> elements() const;
    std::vector<std::pair<std::string, JsonReader>> members() const;
    int64_t size() const;  // of an array or object

    // A member outside `known` is an error with the nearest known key.
    void only(std::initializer_list<std::string_view> known) const;
    // "format": n must be there and 1 ≤ n ≤ newest.
    int64_t format(int64_t newest) const;

    [[noreturn]] void fail(std::string_view message) const;

private:
    JsonReader(const Json& json, std::string where, std::string op, std::string path);
    [[noreturn]] void expected(std::string_view what) const;
    const Json& must_be(Json::Kind kind) const;

    const Json* json_;
    std::string where_, op_, path_;
};

}  // namespace tenon::base
