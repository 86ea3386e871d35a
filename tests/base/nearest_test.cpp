#include "tenon/base/nearest.h"

#include <gtest/gtest.h>

namespace tenon::base {

TEST(Nearest, CountsEdits) {
    const struct {
        const char *a, *b;
        int64_t edits;
    } cases[] = {{"", "", 0},     {"", "abc", 3},   {"kitten", "sitting", 3}, {"saturday", "sunday", 3},
                 {"ab", "ba", 1}, {"ca", "abc", 3}, {"flaw", "lawn", 2},      {"stpes", "steps", 1}};
    for (const auto& c : cases) {
        EXPECT_EQ(edit_distance(c.a, c.b), c.edits) << c.a << " " << c.b;
        EXPECT_EQ(edit_distance(c.b, c.a), c.edits) << c.b << " " << c.a;
    }
}

TEST(Nearest, NamesTheLikelyWordOrNone) {
    const std::vector<std::string> keys = {"learning_rate", "betas", "eps"};
    EXPECT_EQ(nearest("learning_rat", keys), "learning_rate");
    EXPECT_EQ(nearest("lr", keys), "");
    EXPECT_EQ(nearest("esp", keys), "eps");
    EXPECT_EQ(nearest_hint("beta", keys), "; nearest is \"betas\"");
    EXPECT_EQ(nearest_hint("momentum", keys), "; known are \"learning_rate\", \"betas\", \"eps\"");
    EXPECT_EQ(nearest_hint("x", std::vector<std::string>{}), "");
}

}  // namespace tenon::base
