#include "tenon/nn/module.h"

#include <gtest/gtest.h>

#include "tenon/cpu/register.h"

namespace tenon::tests {

namespace {

class Embedding : public nn::Module {
public:
    Embedding() { add_parameter("weight", weight, {3, 2}, {}); }
    Tensor weight;
};

class Tied : public nn::Module {
public:
    Tied() {
        add_module("first", first);
        add_module("second", second);
        add_module("other", other);
        second.weight = first.weight;
    }
    Embedding first, second, other;
};

TEST(Module, ATiedParameterCountsOnceUnderItsFirstName) {
    cpu::register_kernels();
    const Tied module;
    std::vector<std::string> names;
    for (const nn::NamedParameter& each : module.parameters()) names.push_back(each.name);
    EXPECT_EQ(names, (std::vector<std::string>{"first.weight", "other.weight"}));
}

}  // namespace

}  // namespace tenon::tests
