// A text to learn from, and the end of it that is held out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::data {

// Both parts view the object's text: keep it while they are used, and do not move it meanwhile.
class TextFile {
public:
    // Reads a UTF-8 file of at most 16 GiB. `held_out` is the share of its bytes, from the end, kept from training:
    // round(share · bytes), and up to 3 more so that no character is cut.
    // Error(usage, "data") for a share outside [0, 1); Error(file, "data"), with the path, for an empty file, bytes
    // that are not UTF-8 (with their offset), or a share that leaves one part empty.
    TextFile(const std::string& path, double held_out);

    std::string_view train() const noexcept { return std::string_view(text_).substr(0, cut_); }
    std::string_view held_out() const noexcept { return std::string_view(text_).substr(cut_); }
    const std::string& text() const noexcept { return text_; }
    std::string digest() const;  // SHA-256 of the whole file

private:
    std::string text_;
    size_t cut_;
};

// Where the held-out part begins, as TextFile says: a byte offset in [0, text.size()].
int64_t held_out_begin(std::string_view text, double held_out);

}  // namespace tenon::data
