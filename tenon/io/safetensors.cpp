#include "tenon/io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/json.h"
#include "tenon/base/little_endian.h"
#include "tenon/base/sha256.h"
#include "tenon/cpu/access.h"
#include "tenon/ops/functions.h"

namespace tenon::io {

namespace {

using base::Json;

constexpr std::array<std::pair<DType, std::string_view>, dtype_count> dtype_names = {{{DType::f64, "F64"},
                                                                                      {DType::f32, "F32"},
                                                                                      {DType::f16, "F16"},
                                                                                      {DType::bf16, "BF16"},
                                                                                      {DType::i64, "I64"},
                                                                                      {DType::i32, "I32"},
                                                                                      {DType::u8, "U8"},
                                                                                      {DType::boolean, "BOOL"}}};

std::string_view file_dtype(DType dtype) {
    return std::find_if(dtype_names.begin(), dtype_names.end(), [&](const auto& row) { return row.first == dtype; })
        ->second;
}

std::optional<DType> dtype_in_file(std::string_view name) {
    for (const auto& [dtype, spelled] : dtype_names) {
        if (spelled == name) return dtype;
    }
    return std::nullopt;
}

std::string header_text(const NamedTensors& tensors, const Metadata& metadata) {
    Json header = Json::object();
    if (!metadata.empty()) {
        Json fields = Json::object();
        for (const auto& [key, value] : metadata) fields.set(key, value);
        header.set("__metadata__", std::move(fields));
    }
    int64_t at = 0;
    for (const auto& [name, tensor] : tensors) {
        const int64_t bytes = tensor.numel() * size_of(tensor.dtype());
        Json shape = Json::array();
        for (const Dim size : tensor.shape()) shape.push(size);
        header.set(name, Json::object({{"dtype", file_dtype(tensor.dtype())},
                                       {"shape", std::move(shape)},
                                       {"data_offsets", Json::array({at, at + bytes})}}));
        at += bytes;
    }
    std::string text = header.dump();
    // Padded so that elements begin at a multiple of 8.
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

// One entry of the header; `data` is where elements begin.
SafetensorsEntry read_entry(const std::string& name, const base::JsonReader& entry, int64_t data) {
    entry.only({"dtype", "shape", "data_offsets"});
    const auto dtype = dtype_in_file(entry["dtype"].string());
    if (!dtype) entry["dtype"].fail("is no dtype that is read here");
    SafetensorsEntry read{name, *dtype, {}, 0, 0};
    for (const base::JsonReader& size : entry["shape"].elements())
        read.shape.push_back(size.integer(0, int64_t{1} << 48));
    const std::vector<int64_t> offsets = entry["data_offsets"].integers();
    if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
        entry["data_offsets"].fail("must be two ascending offsets");
    }
    int64_t needed = size_of(read.dtype);
    for (const Dim size : read.shape) {
        if (__builtin_mul_overflow(needed, size, &needed)) entry["shape"].fail("has more bytes than 63 bits count");
    }
    if (offsets[1] - offsets[0] != needed) {
        entry.fail("has " + std::to_string(offsets[1] - offsets[0]) + " bytes; its shape " + to_string(read.shape) +
                   " of " + std::string(name_of(read.dtype)) + " needs " + std::to_string(needed));
    }
    if (__builtin_add_overflow(data, offsets[0], &read.begin) || __builtin_add_overflow(data, offsets[1], &read.end)) {
        entry["data_offsets"].fail("lie beyond any file");
    }
    return read;
}

[[noreturn]] void broken(std::string_view where, const std::string& what) {
    throw Error(Code::file, "safetensors", std::string(where) + ": " + what);
}

void check_layout(const SafetensorsHeader& header, int64_t data, int64_t file_bytes, std::string_view where) {
    int64_t at = data;
    for (const SafetensorsEntry& entry : header.entries) {
        if (entry.begin != at) {
            broken(where, "tensor \"" + entry.name + "\" begins at byte " + std::to_string(entry.begin) +
                              " and the one before ends at " + std::to_string(at));
        }
        at = entry.end;
    }
    if (at != file_bytes) {
        broken(where, "the header describes " + std::to_string(at) + " bytes and the file has " +
                          std::to_string(file_bytes) + (at > file_bytes ? "; it was cut short" : ""));
    }
}

}  // namespace

WrittenFile write_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
    std::set<std::string_view> names;
    for (const auto& [name, tensor] : tensors) {
        if (!names.insert(name).second) {
            throw Error(Code::usage, "safetensors", path + ": two tensors are named \"" + name + "\"");
        }
    }
    const std::string header = header_text(tensors, metadata);
    WrittenFile written;
    base::Sha256 whole;
    base::FileWriter writer(path);
    const auto put = [&](const void* bytes, int64_t count) {
        writer.write(bytes, count);
        whole.update(bytes, count);
    };
    std::string length;
    base::append_little_endian(length, uint64_t{header.size()});
    put(length.data(), 8);
    put(header.data(), static_cast<int64_t>(header.size()));
    const ops::NoGrad guard;
    for (const auto& [name, tensor] : tensors) {
        const Tensor plain = tensor.is_contiguous() ? tensor : ops::contiguous(tensor);
        const int64_t bytes = plain.numel() * size_of(plain.dtype());
        base::Sha256 own;
        own.update(cpu::data<>(plain), bytes);
        written.tensor_sha256.push_back(own.finish_hex());
        put(cpu::data<>(plain), bytes);
    }
    writer.commit();
    written.bytes = writer.size();
    written.sha256 = whole.finish_hex();
    return written;
}

SafetensorsHeader read_safetensors_header(std::string_view file, std::string_view where) {
    if (file.size() < 8) broken(where, "has " + std::to_string(file.size()) + " bytes; a header length needs 8");
    const auto length = base::little_endian_at<uint64_t>(file, 0);
    if (length > static_cast<uint64_t>(safetensors_header_limit)) {
        broken(where, "its header claims " + std::to_string(length) + " bytes; the limit is " +
                          std::to_string(safetensors_header_limit));
    }
    if (length > file.size() - 8) broken(where, "its header of " + std::to_string(length) + " bytes is cut short");
    const int64_t data = 8 + static_cast<int64_t>(length);
    const Json json = base::parse_json(file.substr(8, length), where, {safetensors_header_limit, 8});
    SafetensorsHeader header;
    for (const auto& [name, entry] : base::JsonReader(json, where, "safetensors").members()) {
        if (name == "__metadata__") {
            for (const auto& [key, value] : entry.members()) header.metadata[key] = value.string();
        } else {
            header.entries.push_back(read_entry(name, entry, data));
        }
    }
    std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    check_layout(header, data, static_cast<int64_t>(file.size()), where);
    return header;
}

NamedTensors read_safetensors(const std::string& path, Metadata* metadata) {
    const base::MappedFile file(path);
    SafetensorsHeader header = read_safetensors_header(file.text(), path);
    if (metadata != nullptr) *metadata = header.metadata;
    NamedTensors tensors;
    for (const SafetensorsEntry& entry : header.entries) {
        Tensor tensor(entry.shape, entry.dtype, Device::cpu);
        if (entry.end > entry.begin) {
            std::memcpy(cpu::data<>(tensor), file.data() + entry.begin, static_cast<size_t>(entry.end - entry.begin));
        }
        tensors.emplace_back(entry.name, std::move(tensor));
    }
    return tensors;
}

}  // namespace tenon::io
