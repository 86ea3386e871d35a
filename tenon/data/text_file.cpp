#include "tenon/data/text_file.h"

#include <cmath>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/number.h"
#include "tenon/base/sha256.h"
#include "tenon/base/unicode.h"

namespace tenon::data {

int64_t held_out_begin(std::string_view text, double held_out) {
    if (!(held_out >= 0 && held_out < 1))
        throw Error(Code::usage, "data", "held_out must be at least 0 and below 1, not " + std::to_string(held_out));
    auto bytes = static_cast<int64_t>(text.size());
    int64_t tail = std::llround(held_out * static_cast<double>(bytes));
    return base::character_boundary_before(text, bytes - tail);
}

TextFile::TextFile(const std::string& path, double held_out) {
    auto reject = [&](const std::string& message) { throw Error(Code::file, "data", path + ": " + message); };
    if (base::exists(path) && !base::is_regular_file(path))
        reject("is no regular file; a run that resumes reads its text again");
    text_ = base::read_file(path, int64_t{16} << 30);
    if (text_.empty()) reject("the file is empty; give a UTF-8 text");
    if (const std::string message = base::invalid_utf8_message(text_); !message.empty()) reject(message);
    cut_ = static_cast<size_t>(held_out_begin(text_, held_out));
    if (cut_ == 0 || (held_out > 0 && cut_ == text_.size()))
        reject("its " + std::to_string(text_.size()) + " bytes are too few to hold out a share of " +
               std::to_string(held_out));
}

std::string TextFile::digest() const {
    return base::sha256_hex(text_);
}

}  // namespace tenon::data
