#include "tenon/train/config.h"

#include <gtest/gtest.h>

namespace tenon::tests {

namespace {

// The largest power of two that divides the sequences and leaves 512 tokens a leaf, counted by hand.
TEST(DefaultLeaves, KeepAtLeast512TokensEach) {
    struct Case {
        int64_t sequences, length, leaves;
    };
    for (const Case& c : {Case{8, 128, 2}, Case{8, 127, 1}, Case{16, 1024, 16}, Case{12, 512, 4}, Case{12, 300, 4},
                          Case{1, 64, 1}, Case{7, 4096, 1}, Case{64, 64, 8}, Case{64, 65, 8}, Case{8, 64, 1}}) {
        EXPECT_EQ(train::default_leaves(c.sequences, c.length), c.leaves) << c.sequences << " x " << c.length;
    }
}

}  // namespace

}  // namespace tenon::tests
