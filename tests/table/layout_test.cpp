// Memory layout is not an input: strided, sliced and expanded views give the bits of contiguous copies.
#include <gtest/gtest.h>

#include "tests/table/samples.h"

namespace tenon::tests {

namespace {

class TableLayout : public testing::TestWithParam<TableCall> {};

std::vector<TableCall> pure_calls() {
    std::vector<TableCall> calls;
    for (const TableCall& call : table_calls()) {
        if (call.op->mutated_mask() == 0 && !call.sample->inputs.empty()) calls.push_back(call);
    }
    return calls;
}

TEST_P(TableLayout, ChangesNoBit) {
    const TableCall& call = GetParam();
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
        for (const Layout layout : all_layouts) {
            const std::vector<Tensor> inputs = make_inputs(*call.sample, dtype, layout);
            std::vector<Tensor> strided;
            try {
                strided = run(call, inputs);
            } catch (const std::exception& error) {
                if (may_refuse_layout(call)) continue;
                FAIL() << call.name << " " << name_of(layout) << " " << name_of(dtype) << ": " << error.what();
            }
            const std::vector<Tensor> plain = run(call, contiguous_copies(inputs));
            ASSERT_EQ(strided.size(), plain.size());
            for (size_t i = 0; i < plain.size(); ++i) {
                ASSERT_EQ(describe(strided[i]), describe(plain[i])) << call.name << " " << name_of(layout);
                if (!plain[i].defined()) continue;
                ASSERT_EQ(bytes(strided[i]), bytes(plain[i]))
                    << call.name << " " << name_of(layout) << " " << name_of(dtype) << ", output " << i;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, TableLayout, testing::ValuesIn(pure_calls()),
                         [](const auto& each) { return call_name(each.param); });

}  // namespace

}  // namespace tenon::tests
