// From a pair of tokens to its merge: the table in the inner loop of encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tenon::text {

using Token = int32_t;

struct Merge {
    static constexpr int32_t no_rank = std::numeric_limits<int32_t>::max();
    int32_t rank = no_rank;  // the lowest merges first; no_rank: the pair does not merge
    Token result = -1;
};

// A pair as one integer; ascending keys are ascending (left, right).
constexpr uint64_t pair_key(Token left, Token right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

// Open addressing at most half full.
class MergeTable {
public:
    explicit MergeTable(int64_t count = 0) {
        size_t slots = 16;
        while (slots < 2 * static_cast<size_t>(count)) slots *= 2;
        slots_.resize(slots);
    }

    // False, and nothing changes, where the pair is there already. At most the `count` of the constructor.
    bool insert(Token left, Token right, Merge merge) {
        Slot& slot = slots_[find_slot(pair_key(left, right))];
        if (slot.key != free_key) return false;
        slot = {pair_key(left, right), merge};
        return true;
    }

    Merge find(Token left, Token right) const { return slots_[find_slot(pair_key(left, right))].merge; }

private:
    static constexpr uint64_t free_key = ~uint64_t{0};  // no token is negative
    struct Slot {
        uint64_t key = free_key;
        Merge merge;
    };

    size_t find_slot(uint64_t key) const {
        uint64_t hash = key * 0x9e3779b97f4a7c15u;
        size_t at = (hash ^ hash >> 32) & (slots_.size() - 1);
        while (slots_[at].key != key && slots_[at].key != free_key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    std::vector<Slot> slots_;
};

}  // namespace tenon::text
