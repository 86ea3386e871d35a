// The fixed binary tree over leaf indices in which leaf values meet: node (level, i) is (level−1, 2i) + (level−1,
// 2i+1). Values may come in any order; the tree, and so every rounding, is the same.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tenon/core/tensor.h"

namespace tenon::train {

class LeafTree {
public:
    // A power of two.
    explicit LeafTree(int64_t leaves);

    // The values of one leaf: the same number of tensors each time. With ascending leaves at most log2(leaves) + 1 sets
    // are alive.
    void add(int64_t leaf, std::vector<Tensor> values);
    // The root, once every leaf is in.
    std::vector<Tensor> take_root();

private:
    int levels_ = 0;
    int64_t leaves_;
    std::map<std::pair<int, int64_t>, std::vector<Tensor>> waiting_;
};

enum class LeafOrder { ascending, descending, bit_reversed };
// The order in which `leaves` (a power of two) run.
std::vector<int64_t> leaf_sequence(int64_t leaves, LeafOrder order);

}  // namespace tenon::train
