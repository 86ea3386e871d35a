#include "tenon/text/tokenizer.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "tenon/base/error.h"
#include "tenon/base/unicode.h"
#include "tenon/text/alphabet.h"
#include "tenon/text/pieces.h"

namespace tenon::text {

namespace {

[[noreturn]] void reject(std::string_view where, const std::string& message) {
    throw Error(Code::file, "tokenizer", (where.empty() ? "" : std::string(where) + ": ") + message);
}

std::string quoted(const std::string& bytes) {
    return "\"" + spell_bytes(bytes) + "\"";
}

// Merges the pair of the lowest rank, the leftmost of equals, until no pair merges. Shrinks `symbols` to the result.
// Scanning is quickest for words; it is quadratic, so long pieces take merge_long.
void merge_short(std::vector<Token>& symbols, const MergeTable& table) {
    while (symbols.size() > 1) {
        Merge best;
        size_t place = 0;
        for (size_t i = 0; i + 1 < symbols.size(); ++i) {
            Merge merge = table.find(symbols[i], symbols[i + 1]);
            if (merge.rank < best.rank) {
                best = merge;
                place = i;
            }
        }
        if (best.rank == Merge::no_rank) return;
        symbols[place] = best.result;
        symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(place) + 1);
    }
}

// The same by a heap of candidates over a linked list. A candidate is stale when its left symbol has changed or gone:
// symbols only grow, so then its result no longer begins there.
void merge_long(std::vector<Token>& symbols, const MergeTable& table) {
    constexpr Token gone = -1;
    auto count = static_cast<int64_t>(symbols.size());
    std::vector<int64_t> previous(symbols.size()), next(symbols.size());
    for (int64_t i = 0; i < count; ++i) {
        previous[static_cast<size_t>(i)] = i - 1;
        next[static_cast<size_t>(i)] = i + 1;
    }
    struct Candidate {
        Merge merge;
        int64_t place;
        Token left, right;
        bool operator<(const Candidate& other) const {  // the heap's top is its greatest
            return merge.rank != other.merge.rank ? merge.rank > other.merge.rank : place > other.place;
        }
    };
    std::priority_queue<Candidate> heap;
    auto offer = [&](int64_t place) {
        if (place < 0 || next[static_cast<size_t>(place)] >= count) return;
        Token left = symbols[static_cast<size_t>(place)];
        Token right = symbols[static_cast<size_t>(next[static_cast<size_t>(place)])];
        Merge merge = table.find(left, right);
        if (merge.rank != Merge::no_rank) heap.push({merge, place, left, right});
    };
    for (int64_t i = 0; i < count; ++i) offer(i);
    while (!heap.empty()) {
        Candidate top = heap.top();
        heap.pop();
        auto place = static_cast<size_t>(top.place);
        int64_t right = next[place];
        if (symbols[place] != top.left || right >= count || symbols[static_cast<size_t>(right)] != top.right) continue;
        symbols[place] = top.merge.result;
        symbols[static_cast<size_t>(right)] = gone;
        next[place] = next[static_cast<size_t>(right)];
        if (next[place] < count) previous[static_cast<size_t>(next[place])] = top.place;
        offer(previous[place]);
        offer(top.place);
    }
    symbols.erase(std::remove(symbols.begin(), symbols.end(), gone), symbols.end());
}

// Where special tokens occur in a text: the leftmost, of those the longest, as `tokenizers` does.
class SpecialSearch {
public:
    explicit SpecialSearch(const Vocabulary& vocabulary) : tokens_(vocabulary.tokens) {
        for (Token id : vocabulary.specials) by_first_[first_byte(tokens_[static_cast<size_t>(id)])].push_back(id);
        for (std::vector<Token>& ids : by_first_)
            std::stable_sort(ids.begin(), ids.end(), [&](Token a, Token b) {
                return tokens_[static_cast<size_t>(a)].size() > tokens_[static_cast<size_t>(b)].size();
            });
    }

    // The first occurrence at or after `from`: its offset and token; the text's end and -1 where there is none.
    std::pair<size_t, Token> find(std::string_view text, size_t from) const {
        for (size_t at = from; at < text.size(); ++at)
            for (Token id : by_first_[first_byte(text.substr(at))])
                if (text.compare(at, tokens_[static_cast<size_t>(id)].size(), tokens_[static_cast<size_t>(id)]) == 0)
                    return {at, id};
        return {text.size(), -1};
    }

private:
    static size_t first_byte(std::string_view text) { return static_cast<uint8_t>(text[0]); }

    const std::vector<std::string>& tokens_;
    std::array<std::vector<Token>, 256> by_first_;
};

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary, std::string_view where)
    : vocabulary_(std::move(vocabulary)), merges_(static_cast<int64_t>(vocabulary_.merges.size())) {
    const std::vector<std::string>& tokens = vocabulary_.tokens;
    std::sort(vocabulary_.specials.begin(), vocabulary_.specials.end());
    std::unordered_map<std::string_view, Token> ordinary, special;
    for (Token id = 0; id < size(); ++id) {
        const std::string& token = tokens[static_cast<size_t>(id)];
        if (token.empty()) reject(where, "token " + std::to_string(id) + " is empty");
        auto [first, fresh] = (is_special(id) ? special : ordinary).emplace(token, id);
        if (!fresh)
            reject(where, "tokens " + std::to_string(first->second) + " and " + std::to_string(id) + " are both " +
                              quoted(token));
    }
    for (auto [text, id] : special) {  // the file names both by their spelling
        auto bytes = read_bytes(text);
        if (bytes && ordinary.count(*bytes))
            reject(where, "the special token \"" + std::string(text) + "\" is also the spelling of token " +
                              std::to_string(ordinary.at(*bytes)));
    }
    for (size_t b = 0; b < 256; ++b) {
        std::string byte(1, static_cast<char>(b));
        auto found = ordinary.find(byte);
        if (found == ordinary.end())
            reject(where, "no token for the byte " + std::to_string(b) + ", spelled " + quoted(byte) +
                              "; a byte-level vocabulary has all 256");
        byte_token_[b] = found->second;
    }
    int32_t rank = 0;
    for (auto [left, right] : vocabulary_.merges) {
        std::string name = "merge " + std::to_string(rank);
        for (Token part : {left, right})
            if (part < 0 || part >= size() || is_special(part))
                reject(where, name + " joins " + std::to_string(part) + ", which is no ordinary token");
        const std::string &a = tokens[static_cast<size_t>(left)], &b = tokens[static_cast<size_t>(right)];
        name += " (" + quoted(a) + ", " + quoted(b) + ")";
        auto result = ordinary.find(a + b);
        if (result == ordinary.end()) reject(where, name + " gives " + quoted(a + b) + ", which is no token");
        if (!merges_.insert(left, right, {rank++, result->second})) reject(where, name + " is there twice");
    }
}

std::vector<Token> Tokenizer::encode(std::string_view text, SpecialInput specials) const {
    require_utf8(text);
    std::vector<Token> ids;
    if (specials == SpecialInput::as_text || vocabulary_.specials.empty()) {
        encode_ordinary(text, ids);
        return ids;
    }
    SpecialSearch search(vocabulary_);
    for (size_t at = 0; at < text.size();) {
        auto [end, id] = search.find(text, at);
        encode_ordinary(text.substr(at, end - at), ids);
        if (id < 0) break;
        ids.push_back(id);
        at = end + bytes(id).size();
    }
    return ids;
}

// Words repeat: what a piece became is kept, for at most 65,536 pieces of at most 48 bytes, then forgotten at once.
void Tokenizer::encode_ordinary(std::string_view text, std::vector<Token>& ids) const {
    constexpr size_t most_pieces = 65536, longest = 48;
    struct Known {
        size_t begin, count;
    };
    std::unordered_map<std::string_view, Known> known;
    std::vector<Token> pool, symbols;
    Pieces pieces(text);
    for (std::string_view piece; pieces.next(piece);) {
        if (piece.size() > longest) {
            encode_piece(piece, symbols);
            ids.insert(ids.end(), symbols.begin(), symbols.end());
            continue;
        }
        auto found = known.find(piece);
        if (found == known.end()) {
            if (known.size() == most_pieces) {
                known.clear();
                pool.clear();
            }
            encode_piece(piece, symbols);
            found = known.emplace(piece, Known{pool.size(), symbols.size()}).first;
            pool.insert(pool.end(), symbols.begin(), symbols.end());
        }
        auto begin = pool.begin() + static_cast<ptrdiff_t>(found->second.begin);
        ids.insert(ids.end(), begin, begin + static_cast<ptrdiff_t>(found->second.count));
    }
}

void Tokenizer::encode_piece(std::string_view piece, std::vector<Token>& symbols) const {
    constexpr size_t short_piece = 48;
    symbols.clear();
    for (char b : piece) symbols.push_back(byte_token_[static_cast<uint8_t>(b)]);
    if (symbols.size() <= short_piece)
        merge_short(symbols, merges_);
    else
        merge_long(symbols, merges_);
}

std::string Tokenizer::decode(std::span<const Token> ids, SpecialOutput specials) const {
    std::string text;
    for (Token id : ids) {
        std::string_view token = bytes(id);
        if (specials == SpecialOutput::keep || !is_special(id)) text += token;
    }
    return base::replace_invalid_utf8(text);
}

std::string_view Tokenizer::bytes(Token id) const {
    if (id < 0 || id >= size())
        throw Error(Code::usage, "tokenizer",
                    "there is no token " + std::to_string(id) + "; the vocabulary has " + std::to_string(size()) +
                        " tokens, from 0");
    return vocabulary_.tokens[static_cast<size_t>(id)];
}

bool Tokenizer::is_special(Token id) const noexcept {
    return std::binary_search(vocabulary_.specials.begin(), vocabulary_.specials.end(), id);
}

std::optional<Token> Tokenizer::special(std::string_view text) const noexcept {
    for (Token id : vocabulary_.specials)
        if (vocabulary_.tokens[static_cast<size_t>(id)] == text) return id;
    return std::nullopt;
}

std::string TextStream::push(Token id) {
    std::string_view token = tokenizer_.bytes(id);
    if (specials_ == SpecialOutput::skip && tokenizer_.is_special(id)) return "";
    pending_ += token;
    auto whole = static_cast<size_t>(base::complete_utf8_prefix(pending_));
    std::string text = base::replace_invalid_utf8(std::string_view(pending_).substr(0, whole));
    pending_.erase(0, whole);
    return text;
}

std::string TextStream::finish() {
    std::string text = base::replace_invalid_utf8(pending_);
    pending_.clear();
    return text;
}

}  // namespace tenon::text
