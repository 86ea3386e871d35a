// Every provider of an op gives the bits of its reference, which is the last in the list.
#include <gtest/gtest.h>

#include "tenon/ops/dispatch.h"
#include "tenon/ops/table.h"
#include "tests/table/samples.h"

namespace tenon::tests {

namespace {

class TableProvider : public testing::TestWithParam<TableCall> {};

std::vector<TableCall> provided_calls() {
    std::vector<TableCall> calls;
    for (const TableCall& call : table_calls()) {
        if (call.op->providers(Device::cpu).list().size() > 1 && call.op->mutated_mask() == 0) calls.push_back(call);
    }
    return calls;
}

TEST_P(TableProvider, GivesTheBitsOfTheReference) {
    const TableCall& call = GetParam();
    auto& providers = call.op->providers(Device::cpu).list();
    const std::vector<Tensor> inputs = make_inputs(*call.sample, DType::f32, Layout::contiguous);
    std::vector<Tensor> expected;
    {
        const ops::ForceProvider reference(call.op->name(), providers.back().name);
        expected = run(call, inputs);
    }
    for (size_t p = 0; p + 1 < providers.size(); ++p) {
        const ops::Call probe{*call.op, inputs, call.sample->attributes};
        if (providers[p].tier < ops::Tier::d2) continue;
        if (providers[p].supports != nullptr && providers[p].supports(probe) != ops::Reason::ok) continue;
        const ops::ForceProvider forced(call.op->name(), providers[p].name);
        const std::vector<Tensor> got = run(call, inputs);
        for (size_t i = 0; i < expected.size(); ++i) {
            if (!expected[i].defined()) continue;
            EXPECT_EQ(bytes(got[i]), bytes(expected[i]))
                << call.name << " by " << providers[p].name << ", output " << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, TableProvider, testing::ValuesIn(provided_calls()),
                         [](const auto& each) { return call_name(each.param); });

}  // namespace

}  // namespace tenon::tests
