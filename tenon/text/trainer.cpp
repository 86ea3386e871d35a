#include "tenon/text/trainer.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <unordered_map>

#include "tenon/base/error.h"
#include "tenon/base/unicode.h"
#include "tenon/text/alphabet.h"
#include "tenon/text/pieces.h"

namespace tenon::text {

namespace {

// A distinct piece of the text; its symbols shrink as merges are applied.
struct Word {
    std::vector<Token> symbols;
    int64_t count = 0;  // occurrences in the text
};

// Counts of neighbouring pairs over all words, kept up to date merge by merge. A heap holds each pair with the count it
// had when it entered; an entry whose count has changed re-enters with the new one when it comes up.
//
// A pair enters once: the pairs that a merge creates contain its new token. And a token's bytes arise by one merge
// only: symbols that cover the same bytes have met the same merges.
class PairCounts {
public:
    explicit PairCounts(std::vector<Word> words) : words_(std::move(words)) {
        for (size_t w = 0; w < words_.size(); ++w) {
            const std::vector<Token>& symbols = words_[w].symbols;
            for (size_t i = 0; i + 1 < symbols.size(); ++i) change(symbols[i], symbols[i + 1], w, words_[w].count);
        }
        for (const auto& [key, pair] : pairs_) heap_.push({pair.count, key});
    }

    // Takes out the most frequent pair; false where no pair occurs.
    bool take(Token& left, Token& right) {
        while (!heap_.empty()) {
            Entry top = heap_.top();
            heap_.pop();
            int64_t count = pairs_.at(top.key).count;
            if (count <= 0) continue;
            if (count != top.count) {
                heap_.push({count, top.key});
                continue;
            }
            left = static_cast<Token>(top.key >> 32);
            right = static_cast<Token>(top.key & 0xffffffffu);
            return true;
        }
        return false;
    }

    void merge(Token left, Token right, Token joined) {
        auto merged = pairs_.extract(pair_key(left, right));
        created_.clear();
        for (size_t w : merged.mapped().words) merge_in(w, left, right, joined);
        std::sort(created_.begin(), created_.end());
        created_.erase(std::unique(created_.begin(), created_.end()), created_.end());
        for (uint64_t key : created_) heap_.push({pairs_.at(key).count, key});
    }

private:
    struct Pair {
        int64_t count = 0;
        std::vector<size_t> words;  // where it has occurred, each once
    };
    struct Entry {
        int64_t count;
        uint64_t key;
        bool operator<(const Entry& other) const {  // the heap's top is its greatest
            return count != other.count ? count < other.count : key > other.key;
        }
    };

    void change(Token left, Token right, size_t word, int64_t by) {
        Pair& pair = pairs_[pair_key(left, right)];
        pair.count += by;
        if (by > 0 && (pair.words.empty() || pair.words.back() != word)) pair.words.push_back(word);
    }

    // From left to right; a symbol that a merge made is the neighbour of the next.
    void merge_in(size_t w, Token left, Token right, Token joined) {
        std::vector<Token>& symbols = words_[w].symbols;
        int64_t count = words_[w].count;
        size_t kept = 0;
        for (size_t i = 0; i < symbols.size(); ++kept) {
            if (i + 1 == symbols.size() || symbols[i] != left || symbols[i + 1] != right) {
                symbols[kept] = symbols[i++];
                continue;
            }
            if (kept > 0) replace(symbols[kept - 1], left, symbols[kept - 1], joined, w, count);
            if (i + 2 < symbols.size()) replace(right, symbols[i + 2], joined, symbols[i + 2], w, count);
            symbols[kept] = joined;
            i += 2;
        }
        symbols.resize(kept);
    }

    // One occurrence of the pair (a, b) became (c, d). Where (a, b) is the merged pair itself, in a run such as "aaa",
    // its count no longer matters: it has left the heap for good.
    void replace(Token a, Token b, Token c, Token d, size_t w, int64_t count) {
        change(a, b, w, -count);
        change(c, d, w, count);
        created_.push_back(pair_key(c, d));
    }

    std::vector<Word> words_;
    std::unordered_map<uint64_t, Pair> pairs_;
    std::priority_queue<Entry> heap_;
    std::vector<uint64_t> created_;
};

std::vector<Word> count_words(std::string_view text, const std::array<Token, 256>& byte_token) {
    std::unordered_map<std::string_view, size_t> places;
    std::vector<Word> words;
    Pieces pieces(text);
    for (std::string_view piece; pieces.next(piece);) {
        auto [place, fresh] = places.emplace(piece, words.size());
        if (fresh) {
            words.emplace_back();
            words.back().symbols.reserve(piece.size());
            for (char b : piece) words.back().symbols.push_back(byte_token[static_cast<uint8_t>(b)]);
        }
        ++words[place->second].count;
    }
    return words;
}

void check(const TrainerOptions& options) {
    auto refuse = [](const std::string& message) { throw Error(Code::usage, "tokenizer", message); };
    std::set<std::string> seen;
    for (const std::string& special : options.specials) {
        if (special.empty()) refuse("a special token is empty");
        if (!base::is_utf8(special)) refuse("a special token is not UTF-8");
        if (!seen.insert(special).second) refuse("the special token \"" + special + "\" is given twice");
    }
    int64_t least = static_cast<int64_t>(options.specials.size()) + 256;
    if (options.vocab_size < least || options.vocab_size > std::numeric_limits<Token>::max())
        refuse("vocab_size is " + std::to_string(options.vocab_size) + "; " + std::to_string(options.specials.size()) +
               " special tokens and the 256 bytes need at least " + std::to_string(least) +
               ", and ids are below 2147483648");
}

// The file names tokens by their spelling, so a special token must not read like an ordinary one.
void check_collision(const std::set<std::string>& specials, const std::string& bytes) {
    std::string spelled = spell_bytes(bytes);
    if (specials.count(spelled))
        throw Error(Code::usage, "tokenizer",
                    "the special token \"" + spelled +
                        "\" is also an ordinary token of this text; choose one that is not, such as \"<|" + spelled +
                        "|>\"");
}

}  // namespace

Tokenizer train_tokenizer(std::string_view text, const TrainerOptions& options) {
    check(options);
    const std::set<std::string> specials(options.specials.begin(), options.specials.end());
    Vocabulary vocabulary;
    std::vector<std::string>& tokens = vocabulary.tokens;
    tokens = options.specials;
    for (size_t i = 0; i < tokens.size(); ++i) vocabulary.specials.push_back(static_cast<Token>(i));
    std::array<Token, 256> byte_token{};
    for (uint8_t b : byte_order()) {
        byte_token[b] = static_cast<Token>(tokens.size());
        tokens.emplace_back(1, static_cast<char>(b));
        check_collision(specials, tokens.back());
    }
    auto first = static_cast<int64_t>(tokens.size());
    PairCounts pairs(count_words(text, byte_token));
    for (int64_t id = first; id < options.vocab_size; ++id) {
        Token left = 0, right = 0;
        if (!pairs.take(left, right))
            throw Error(Code::file, "tokenizer",
                        "the text of " + std::to_string(text.size()) + " bytes allows a vocabulary of at most " +
                            std::to_string(id) + " tokens; " + std::to_string(options.vocab_size) +
                            " were asked for: lower vocab_size or give more text");
        pairs.merge(left, right, static_cast<Token>(id));
        vocabulary.merges.emplace_back(left, right);
        tokens.push_back(tokens[static_cast<size_t>(left)] + tokens[static_cast<size_t>(right)]);
        check_collision(specials, tokens.back());
        if (options.progress && (id % 64 == 0 || id + 1 == options.vocab_size))
            options.progress(id + 1 - first, options.vocab_size - first);
    }
    return Tokenizer(std::move(vocabulary));
}

}  // namespace tenon::text
