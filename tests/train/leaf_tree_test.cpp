#include "tenon/train/leaf_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tests/train/tiny_models.h"

namespace tenon::tests {

namespace {

using train::LeafOrder;
using train::LeafTree;

// Values whose f32 sum depends on the order of addition: the small ones are near half a unit of the great ones.
Tensor leaf_value(int64_t leaf) {
    return ops::full({}, leaf % 3 == 0 ? 1e8 : 3.0 + static_cast<double>(leaf));
}

float tree_sum(const std::vector<int64_t>& order) {
    LeafTree tree(static_cast<int64_t>(order.size()));
    for (const int64_t leaf : order) tree.add(leaf, {leaf_value(leaf)});
    return static_cast<float>(ops::item(tree.take_root()[0]));
}

TEST(LeafTree, AnyOrderOfArrivalGivesTheFixedTree) {
    prepare();
    const auto v = [](int64_t leaf) { return static_cast<float>(ops::item(leaf_value(leaf))); };
    const float expected = ((v(0) + v(1)) + (v(2) + v(3))) + ((v(4) + v(5)) + (v(6) + v(7)));
    std::vector<int64_t> order = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(tree_sum(order), expected);
        for (int hop = 0; hop < 37; ++hop) std::next_permutation(order.begin(), order.end());
    }
}

TEST(LeafTree, SequencesVisitEveryLeafOnce) {
    for (const LeafOrder order : {LeafOrder::ascending, LeafOrder::descending, LeafOrder::bit_reversed}) {
        std::vector<int64_t> leaves = train::leaf_sequence(16, order);
        std::sort(leaves.begin(), leaves.end());
        for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(leaves[static_cast<size_t>(i)], i);
    }
    EXPECT_EQ(train::leaf_sequence(4, LeafOrder::bit_reversed), (std::vector<int64_t>{0, 2, 1, 3}));
}

TEST(LeafTree, RefusesAMissingLeafAndAnOddCount) {
    EXPECT_THROW(LeafTree(3), Error);
    LeafTree tree(2);
    tree.add(1, {});
    EXPECT_THROW(tree.take_root(), Error);
}

}  // namespace

}  // namespace tenon::tests
