// Named tensors on disk, read one at a time: those of a checkpoint, of another folder of safetensors files, or of one
// file.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/files.h"
#include "tenon/io/safetensors.h"

namespace tenon::io {

struct StoredTensor {
    std::string name;
    std::string file;  // its path
    DType dtype = DType::f32;
    Shape shape;
    std::string sha256;  // as the checkpoint's manifest states it; empty where there is none
};

class TensorSource {
public:
    // Throws Error(file) where there are no tensors, or a header is damaged.
    explicit TensorSource(const std::string& path);

    const std::string& path() const { return path_; }
    const std::vector<StoredTensor>& tensors() const { return tensors_; }
    // nullptr where there is none of that name.
    const StoredTensor* find(std::string_view name) const;
    // Throws Error(usage) with the nearest name.
    const StoredTensor& at(std::string_view name) const;
    // The two take tensors of this source only.
    std::string_view bytes(const StoredTensor& tensor) const;
    Tensor read(const StoredTensor& tensor) const;

    // What speaks against a checkpoint without a look at its tensors: no COMMIT, a manifest that is not the committed
    // one, a file of another size.
    const std::vector<std::string>& doubts() const { return doubts_; }

private:
    struct Place {
        size_t file;
        int64_t begin, end;
    };
    void open(const std::string& file);
    void read_manifest();
    const Place& place(const StoredTensor& tensor) const;

    std::string path_;
    std::vector<base::MappedFile> files_;
    std::vector<StoredTensor> tensors_;
    std::vector<Place> places_;  // of tensors_
    std::map<std::string, size_t, std::less<>> index_;
    std::vector<std::string> doubts_;
};

}  // namespace tenon::io
