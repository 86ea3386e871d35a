// A parameter starts from its full name and the seed, whatever else the module has.
#include <gtest/gtest.h>

#include <map>

#include "tenon/cpu/register.h"
#include "tenon/nn/module.h"
#include "tests/cpu/sweep.h"

namespace tenon::tests {

namespace {

constexpr nn::Initializer normal{nn::Initializer::Kind::normal, 0.02};

class Pair : public nn::Module {
public:
    explicit Pair(bool turned) {
        add_parameter(turned ? "second" : "first", one_, {5, 7}, normal);
        add_parameter(turned ? "first" : "second", two_, {5, 7}, normal);
    }

private:
    Tensor one_, two_;
};

std::map<std::string, std::vector<uint64_t>> values(const nn::Module& module) {
    std::map<std::string, std::vector<uint64_t>> all;
    for (const nn::NamedParameter& each : module.parameters()) all[each.name] = sweep::bits(each.tensor);
    return all;
}

TEST(Initializer, OrderOfRegistrationAndRepetitionChangeNothing) {
    cpu::register_kernels();
    Pair straight(false), turned(true);
    straight.initialize(3);
    turned.initialize(3);
    const auto expected = values(straight);
    EXPECT_NE(expected.at("first"), expected.at("second"));
    EXPECT_EQ(values(turned), expected);
    straight.initialize(4);
    EXPECT_NE(values(straight), expected);
    straight.initialize(3);
    EXPECT_EQ(values(straight), expected);
}

}  // namespace

}  // namespace tenon::tests
