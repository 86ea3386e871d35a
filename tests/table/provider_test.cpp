// Every provider of an op gives the bits of its reference, which is the last in the list, in every dtype that it takes.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "tenon/ops/dispatch.h"
#include "tenon/ops/table.h"
#include "tests/table/samples.h"

namespace tenon::tests {

namespace {

constexpr DType floating_dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16};

class TableProvider : public testing::TestWithParam<TableCall> {};

std::vector<TableCall> provided_calls() {
    std::vector<TableCall> calls;
    for (const TableCall& call : table_calls()) {
        if (call.op->providers(Device::cpu).list().size() > 1) calls.push_back(call);
    }
    return calls;
}

bool takes(const ops::Provider& provider, const TableCall& call, const std::vector<Tensor>& inputs) {
    return provider.supports == nullptr ||
           provider.supports(ops::Call{*call.op, inputs, call.sample->attributes}) == ops::Reason::ok;
}

// The bits of the outputs, and of the inputs after the call: an op that writes into one writes the same.
std::vector<std::vector<uint8_t>> bits_by(const ops::Provider& provider, const TableCall& call, DType floating) {
    const ops::NoGrad guard;
    const ops::ForceProvider forced(call.op->name(), provider.name);
    const std::vector<Tensor> inputs = make_inputs(*call.sample, floating, Layout::contiguous);
    std::vector<std::vector<uint8_t>> all;
    for (const Tensor& output : run(call, inputs))
        all.push_back(output.defined() ? bytes(output) : std::vector<uint8_t>());
    for (const Tensor& input : inputs) all.push_back(input.defined() ? bytes(input) : std::vector<uint8_t>());
    return all;
}

TEST_P(TableProvider, GivesTheBitsOfTheReference) {
    const TableCall& call = GetParam();
    auto& providers = call.op->providers(Device::cpu).list();
    for (const DType floating : floating_dtypes) {
        const std::vector<Tensor> inputs = make_inputs(*call.sample, floating, Layout::contiguous);
        if (!takes(providers.back(), call, inputs)) continue;
        std::optional<std::vector<std::vector<uint8_t>>> expected;
        for (size_t p = 0; p + 1 < providers.size(); ++p) {
            if (!takes(providers[p], call, inputs)) continue;
            if (!expected) expected = bits_by(providers.back(), call, floating);
            EXPECT_EQ(bits_by(providers[p], call, floating), *expected)
                << call.name << " of " << name_of(floating) << " by " << providers[p].name;
        }
    }
}

// A provider that no sample reaches is compared with nothing above.
TEST(TableProviderReach, EveryProviderOfEveryOpTakesASampleThatItsReferenceTakes) {
    std::set<std::string> unreached, reached;
    for (const TableCall& call : table_calls()) {
        auto& providers = call.op->providers(Device::cpu).list();
        for (const ops::Provider& provider : providers) {
            const std::string name = std::string(call.op->name()) + " by " + provider.name;
            unreached.insert(name);
            for (const DType floating : floating_dtypes) {
                const std::vector<Tensor> inputs = make_inputs(*call.sample, floating, Layout::contiguous);
                if (takes(provider, call, inputs) && takes(providers.back(), call, inputs)) reached.insert(name);
            }
        }
    }
    for (const std::string& name : reached) unreached.erase(name);
    EXPECT_EQ(unreached, std::set<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Ops, TableProvider, testing::ValuesIn(provided_calls()),
                         [](const auto& each) { return call_name(each.param); });

}  // namespace

}  // namespace tenon::tests
