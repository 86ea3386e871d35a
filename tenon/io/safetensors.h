// safetensors: 8 bytes of header length (little-endian), a JSON header, then the elements, little-endian, row-major.
// https://huggingface.co/docs/safetensors is the format's description.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/tensor.h"

namespace tenon::io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Metadata = std::map<std::string, std::string>;

// The largest header that is read: 64 MiB.
inline constexpr int64_t safetensors_header_limit = int64_t{64} << 20;

struct WrittenFile {
    int64_t bytes = 0;
    std::string sha256;                      // of the whole file
    std::vector<std::string> tensor_sha256;  // of each tensor's bytes, in the order given
};

// Writes the tensors in the order given, at a temporary name, then renames. Throws for two tensors of one name.
WrittenFile write_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata = {});

struct SafetensorsEntry {
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    int64_t begin = 0;  // of its bytes, from the start of the file
    int64_t end = 0;
};
struct SafetensorsHeader {
    std::vector<SafetensorsEntry> entries;  // in the order of their bytes
    Metadata metadata;
};

// Reads and checks a header against the file's size: sizes, overlaps, gaps, dtypes. Errors name the file and the
// tensor.
SafetensorsHeader read_safetensors_header(std::string_view file, std::string_view where);

// All tensors of a file, on the CPU, in the order of their bytes.
NamedTensors read_safetensors(const std::string& path, Metadata* metadata = nullptr);

}  // namespace tenon::io
