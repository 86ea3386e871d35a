// Cuts text into pieces by GPT-2's pattern (Radford et al. 2019): contractions, words, numbers and other signs, each
// with the space before it, and white space. Merges never cross a piece.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tenon::text {

class Pieces {
public:
    // Refers to the text, which must outlive it. Error(file, "tokenizer") with the byte offset where it is not UTF-8.
    explicit Pieces(std::string_view text);
    ~Pieces();
    Pieces(const Pieces&) = delete;
    Pieces& operator=(const Pieces&) = delete;

    // The next piece, never empty; false at the end. The pieces in order are the text.
    bool next(std::string_view& piece);

private:
    struct Match;
    std::string_view text_;
    size_t at_ = 0;
    std::unique_ptr<Match> match_;
};

// Which library decides what a letter is, and by which Unicode: "PCRE2 10.42 2022-12-11, Unicode 14.0.0".
std::string pattern_engine();

// Error(file, "tokenizer") that names the byte offset, where the text is not UTF-8.
void require_utf8(std::string_view text);

}  // namespace tenon::text
