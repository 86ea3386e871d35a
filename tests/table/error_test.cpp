// What an entry calls an error is one: its type, its op, its message.
#include <gtest/gtest.h>

#include "tenon/base/error.h"
#include "tenon/ops/table.h"
#include "tests/table/samples.h"

namespace tenon::tests {

namespace {

TEST(Table, ErrorsAreAsStated) {
    prepare();
    for (const ops::Op& op : ops::table().all()) {
        for (const ops::ErrorSample& error : op.error_list()) {
            const ops::Sample sample{error.inputs, error.attributes};
            const TableCall call{&op, &sample, op.name()};
            try {
                run(call, make_inputs(sample, DType::f32, Layout::contiguous));
                ADD_FAILURE() << op.name() << " took an input that should be an error: " << error.message;
            } catch (const Error& thrown) {
                EXPECT_NE(std::string(thrown.what()).find(error.message), std::string::npos)
                    << op.name() << " said: " << thrown.what() << "\nexpected in it: " << error.message;
            }
        }
    }
}

}  // namespace

}  // namespace tenon::tests
