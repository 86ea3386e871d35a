// Learns a byte-level BPE vocabulary: join the most frequent pair of neighbours, again and again (Sennrich et al. 2016,
// arXiv:1508.07909).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/text/tokenizer.h"

namespace tenon::text {

struct TrainerOptions {
    int64_t vocab_size = 2048;          // specials, the 256 bytes, and merges
    std::vector<std::string> specials;  // take the first ids, in this order
    // Called now and then with the merges learned and the merges wanted.
    std::function<void(int64_t done, int64_t all)> progress;
};

// Ids: specials, the 256 bytes in GPT-2's order, merges in the order learned. The highest count is joined first, of
// equals the lowest (left, right) ids: the vocabulary, and so every encoding, is that of `tokenizers`' BpeTrainer with
// the byte alphabet and no minimum frequency. Special tokens in the text are text.
// Errors: usage, for a vocabulary below specials + 256, an empty or doubled special, or one that is also an ordinary
// token; file, for text that is not UTF-8 or too small for the vocabulary (the message says what it allows).
Tokenizer train_tokenizer(std::string_view text, const TrainerOptions& options);

}  // namespace tenon::text
