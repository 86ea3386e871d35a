// The one-line signature of an op, as its entry spells it:
//
//   softmax(x, dim: int = -1)          one tensor in, one out
//   linear(x, weight, bias?)           an optional tensor
//   cat(tensors[], dim: int = 0)       a list of tensors
//   adamw(p!, g, m!, v!, lr: real) -> none     `!` marks an input that the op writes
//   attention(q, k, v, …) -> (out, lse)        several results
//   split(x, size: int) -> tensors     a list of results
//
// Attribute types: int, bool, real, dims, dtype, device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::ops {

enum class AttributeType { integer, boolean, real, dims, dtype, device };

struct InputSchema {
    std::string name;
    bool mutated = false;
    bool optional = false;
    bool list = false;
};

struct AttributeSchema {
    std::string name;
    AttributeType type = AttributeType::integer;
    int slot = 0;                         // index among the attributes that share its storage
    std::optional<std::string> fallback;  // the default, as written
};

struct Schema {
    std::string name;
    std::vector<InputSchema> inputs;
    std::vector<AttributeSchema> attributes;
    std::vector<std::string> outputs;  // empty for none
    bool list_output = false;

    // -1 for an unknown name.
    int input_index(std::string_view input) const;
    int output_index(std::string_view output) const;
    const AttributeSchema& attribute(std::string_view attribute) const;
};

inline constexpr int max_integers = 8;  // ints, bools, dtypes and devices share one array
inline constexpr int max_reals = 8;
inline constexpr int max_dims = 1;

// Throws Error(usage) that quotes the text and the place in it.
Schema parse_schema(std::string_view text);

}  // namespace tenon::ops
