#include "tenon/train/leaf_tree.h"

#include <bit>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/ops/operators.h"

namespace tenon::train {

LeafTree::LeafTree(int64_t leaves) : levels_(std::countr_zero(static_cast<uint64_t>(leaves))), leaves_(leaves) {
    if (leaves < 1 || !std::has_single_bit(static_cast<uint64_t>(leaves))) {
        throw Error(Code::usage, "leaves", std::to_string(leaves) + " is no power of two");
    }
}

void LeafTree::add(int64_t leaf, std::vector<Tensor> values) {
    const ops::NoGrad guard;
    if (TENON_FAULT(leaves_by_arrival)) {
        leaf = 0;
        for (const auto& [place, sums] : waiting_) leaf += int64_t{1} << place.first;
    }
    std::pair<int, int64_t> at{0, leaf};
    while (at.first < levels_) {
        const auto sibling = waiting_.find({at.first, at.second ^ 1});
        if (sibling == waiting_.end()) break;
        const bool is_left = at.second % 2 == 0;
        for (size_t i = 0; i < values.size(); ++i) {
            const Tensor& other = sibling->second[i];
            values[i] = is_left ? values[i] + other : other + values[i];
        }
        waiting_.erase(sibling);
        at = {at.first + 1, at.second / 2};
    }
    waiting_.emplace(at, std::move(values));
}

std::vector<Tensor> LeafTree::take_root() {
    const auto root = waiting_.find({levels_, 0});
    if (root == waiting_.end()) {
        throw Error(Code::failed, "leaves", "not all of the " + std::to_string(leaves_) + " leaves are in");
    }
    std::vector<Tensor> values = std::move(root->second);
    waiting_.clear();
    return values;
}

std::vector<int64_t> leaf_sequence(int64_t leaves, LeafOrder order) {
    const int bits = std::countr_zero(static_cast<uint64_t>(leaves));
    std::vector<int64_t> sequence;
    for (int64_t i = 0; i < leaves; ++i) {
        int64_t leaf = order == LeafOrder::descending ? leaves - 1 - i : i;
        if (order == LeafOrder::bit_reversed) {
            leaf = 0;
            for (int bit = 0; bit < bits; ++bit) leaf |= (i >> bit & 1) << (bits - 1 - bit);
        }
        sequence.push_back(leaf);
    }
    return sequence;
}

}  // namespace tenon::train
