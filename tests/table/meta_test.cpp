// Shapes and dtypes need no memory: on meta every op says what the real call gives.
#include <gtest/gtest.h>

#include "tenon/ops/dispatch.h"
#include "tests/table/samples.h"

namespace tenon::tests {

namespace {

class TableMeta : public testing::TestWithParam<TableCall> {};

Tensor on_meta(const Tensor& tensor) {
    return tensor.defined() ? Tensor(tensor.shape(), tensor.dtype(), Device::meta) : Tensor();
}

TEST_P(TableMeta, SaysWhatTheRealCallGives) {
    const TableCall& call = GetParam();
    const std::vector<Tensor> inputs = make_inputs(*call.sample, DType::f32, Layout::contiguous);
    const std::vector<Tensor> real = run(call, inputs);
    std::vector<Tensor> shadows;
    for (const Tensor& input : inputs) shadows.push_back(on_meta(input));
    TableCall shadow_call = call;
    ops::Sample sample = *call.sample;
    if (call.op->device_slot() >= 0) {
        sample.attributes.integers[static_cast<size_t>(call.op->device_slot())] = static_cast<int64_t>(Device::meta);
    }
    shadow_call.sample = &sample;
    const ops::DefaultDevice meta(Device::meta);
    const std::vector<Tensor> said = run(shadow_call, shadows);
    ASSERT_EQ(said.size(), real.size());
    for (size_t i = 0; i < real.size(); ++i) {
        EXPECT_EQ(describe(said[i]), describe(real[i])) << call.name << ", output " << i;
        if (said[i].defined()) {
            EXPECT_EQ(said[i].device(), Device::meta) << call.name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, TableMeta, testing::ValuesIn(table_calls()),
                         [](const auto& each) { return call_name(each.param); });

}  // namespace

}  // namespace tenon::tests
