#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"

namespace tenon::ops {
namespace {

class Views : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

// A random view of a counting tensor: permuted, narrowed, with dims of size 1 added and repeated.
Tensor random_view() {
    const int rank = *rc::gen::inRange(1, 5);
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(*rc::gen::inRange(1, 5));
    Tensor x = view(arange(0, static_cast<double>(numel(shape))), shape);
    std::vector<int64_t> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    const int swaps = *rc::gen::inRange(0, 3);
    for (int s = 0; s < swaps; ++s) std::swap(order[static_cast<size_t>(*rc::gen::inRange(0, rank))], order[0]);
    x = permute(x, Dims(order));
    if (*rc::gen::arbitrary<bool>()) {
        const int64_t dim = *rc::gen::inRange<int64_t>(0, rank);
        const int64_t start = *rc::gen::inRange<int64_t>(0, x.shape()[dim]);
        x = narrow(x, dim, start, *rc::gen::inRange<int64_t>(1, x.shape()[dim] - start + 1));
    }
    if (*rc::gen::arbitrary<bool>()) {
        const int64_t dim = *rc::gen::inRange<int64_t>(0, x.rank() + 1);
        x = unsqueeze(x, dim);
        if (*rc::gen::arbitrary<bool>()) {
            Shape wide = x.shape();
            wide[dim] = 3;
            x = expand(x, wide);
        }
    }
    return x;
}

// Any factoring of `count`, with ones strewn in.
Shape random_shape(int64_t count) {
    Shape shape;
    while (count > 1) {
        std::vector<int64_t> divisors;
        for (int64_t d = 1; d <= count; ++d) {
            if (count % d == 0) divisors.push_back(d);
        }
        const int64_t factor = *rc::gen::elementOf(divisors);
        shape.push_back(factor);
        count /= factor;
        if (shape.size() > 8) {
            shape.push_back(count);
            break;
        }
    }
    return shape;
}

RC_GTEST_PROP(ViewProperties, ReshapeReadsTheSameElementsInOrder, ()) {
    cpu::register_kernels();
    const Tensor x = random_view();
    const Shape shape = random_shape(x.numel());
    const std::vector<int64_t> expected = to_vector<int64_t>(clone(x));
    RC_ASSERT(to_vector<int64_t>(reshape(x, shape)) == expected);
}

RC_GTEST_PROP(ViewProperties, AViewSharesMemoryAndAgreesWithACopy, ()) {
    cpu::register_kernels();
    const Tensor x = random_view();
    const Shape shape = random_shape(x.numel());
    const std::vector<int64_t> expected = to_vector<int64_t>(clone(x));
    try {
        const Tensor seen = view(x, shape);
        RC_ASSERT(&seen.storage() == &x.storage());
        RC_ASSERT(to_vector<int64_t>(seen) == expected);
    } catch (const Error&) {
        // Refused: then the elements really are not a view. A contiguous tensor always is one.
        RC_ASSERT(!x.is_contiguous());
    }
}

TEST_F(Views, WhereAViewExistsItIsFound) {
    const Tensor x = view(arange(0, 24), {2, 3, 4});
    EXPECT_NO_THROW(view(transpose(x, 0, 1), {3, 2, 2, 2}));
    EXPECT_NO_THROW(view(narrow(x, 2, 0, 2), {6, 2}));
    EXPECT_NO_THROW(view(expand(unsqueeze(x, 0), {5, 2, 3, 4}), {5, 24}));
    EXPECT_NO_THROW(view(unsqueeze(transpose(x), 3), {2, 4, 3}));
    EXPECT_THROW(view(transpose(x), {24}), Error);
    EXPECT_THROW(view(narrow(x, 2, 0, 2), {12}), Error);
}

TEST_F(Views, SlicesStartWhereTheySay) {
    const Tensor x = view(arange(0, 12), {3, 4});
    EXPECT_EQ(to_vector<int64_t>(narrow(x, 1, -2, 2)), (std::vector<int64_t>{2, 3, 6, 7, 10, 11}));
    EXPECT_EQ(to_vector<int64_t>(select(x, 0, -1)), (std::vector<int64_t>{8, 9, 10, 11}));
    const std::vector<Tensor> pieces = split(x, 3, 1);
    ASSERT_EQ(pieces.size(), 2U);
    EXPECT_EQ(to_vector<int64_t>(pieces[1]), (std::vector<int64_t>{3, 7, 11}));
    const Tensor rows[] = {select(x, 0, 0), select(x, 0, 2)};
    EXPECT_EQ(to_vector<int64_t>(stack(rows, 1)), (std::vector<int64_t>{0, 8, 1, 9, 2, 10, 3, 11}));
}

TEST_F(Views, AWriteThroughAViewIsSeenInTheBase) {
    const Tensor x = zeros({2, 3});
    assign(select(x, 1, 1), full({2}, 5));
    EXPECT_EQ(to_vector<float>(x), (std::vector<float>{0, 5, 0, 0, 5, 0}));
    EXPECT_STREQ(x.storage().last_writer(), "assign");
}

TEST_F(Views, ContiguousReturnsItsInputWhereItCan) {
    const Tensor x = zeros({2, 3});
    EXPECT_TRUE(contiguous(x).same_as(x));
    EXPECT_FALSE(contiguous(transpose(x)).same_as(x));
    EXPECT_TRUE(contiguous(transpose(x)).is_contiguous());
}

}  // namespace
}  // namespace tenon::ops
