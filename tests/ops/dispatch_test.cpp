#include "tenon/ops/dispatch.h"

#include <gtest/gtest.h>

#include <immintrin.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/cpu/access.h"
#include "tenon/cpu/float_environment.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/table.h"

namespace tenon::ops {
namespace {

class Dispatch : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

std::string message_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST_F(Dispatch, AnUndefinedInputIsNamed) {
    EXPECT_EQ(message_of([] { clone(Tensor()); }), "[clone] input \"x\" is undefined");
}

TEST_F(Dispatch, DevicesDoNotMix) {
    const Tensor parts[] = {zeros({2}), zeros({2}, DType::f32, Device::meta)};
    EXPECT_NE(message_of([&] { cat(parts); }).find("inputs are on different devices"), std::string::npos);
}

TEST_F(Dispatch, MetaGivesShapesWithoutKernels) {
    const DefaultDevice meta(Device::meta);
    const Tensor x = zeros({2, 3}, DType::bf16);
    EXPECT_EQ(x.device(), Device::meta);
    const Tensor rows = embedding(x, zeros({4, 5}, DType::i64));
    EXPECT_EQ(describe(rows), "bf16[4, 5, 3]");
    EXPECT_EQ(rows.device(), Device::meta);
}

TEST_F(Dispatch, GradModeNestsAndComesBack) {
    EXPECT_TRUE(grad_enabled());
    {
        const NoGrad off;
        EXPECT_FALSE(grad_enabled());
        {
            const GradMode on(true);
            EXPECT_TRUE(grad_enabled());
        }
        EXPECT_FALSE(grad_enabled());
    }
    EXPECT_TRUE(grad_enabled());
}

TEST_F(Dispatch, AForcedProviderRunsAndIsCounted) {
    const auto calls = [](const std::string& provider) {
        uint64_t count = 0;
        for (const ProviderUse& use : provider_uses()) {
            if (use.op == "sum_of_squares" && use.provider == provider) count = use.calls;
        }
        return count;
    };
    const Tensor x = ones({5});
    const uint64_t before = calls("reference");
    const uint64_t lanes_before = calls("lanes");
    {
        const ForceProvider forced("sum_of_squares", "reference");
        sum_of_squares(x);
    }
    sum_of_squares(x);
    EXPECT_EQ(calls("reference"), before + 1);
    EXPECT_EQ(calls("lanes"), lanes_before + 1);
    EXPECT_NE(message_of([] { const ForceProvider forced("sum_of_squares", "lane"); }).find("lanes"),
              std::string::npos);
}

TEST_F(Dispatch, AForcedProviderThatCannotTakeTheCallSaysWhy) {
    const ForceProvider forced("sum_of_squares", "lanes");
    EXPECT_EQ(message_of([] { sum_of_squares(ones({5}, DType::f64)); }),
              "[sum_of_squares] no kernel on cpu takes (f64[5]); refused by: lanes (dtype)");
}

TEST_F(Dispatch, AProviderBelowTheTierIsPassedOver) {
    auto& providers = lookup("sum_of_squares").providers(Device::cpu).list();
    providers.emplace_front("guess", Tier::d1, nullptr,
                            [](const Call&, std::span<Tensor> outputs) { *cpu::data<float>(outputs[0]) = -1; });
    const Tier before = minimum_tier();
    for (const auto& [tier, expected] : {std::pair{Tier::d1, -1.0}, {Tier::d2, 5.0}, {Tier::d4, 5.0}}) {
        set_minimum_tier(tier);
        EXPECT_EQ(item(sum_of_squares(ones({5}))), expected) << name_of(tier);
    }
    set_minimum_tier(before);
    providers.pop_front();
}

TEST_F(Dispatch, AWriteToATensorThatRequiresAGradientIsRefusedOutsideNoGrad) {
    Tensor x = zeros({2});
    x.set_requires_grad(true);
    EXPECT_NE(message_of([&] { assign(x, ones({2})); }).find("under NoGrad"), std::string::npos);
    const uint64_t before = x.storage().version();
    const NoGrad guard;
    assign(x, ones({2}));
    EXPECT_EQ(x.storage().version(), before + 1);
    EXPECT_STREQ(x.storage().last_writer(), "assign");
}

TEST_F(Dispatch, AWriteToElementsThatShareMemoryIsRefused) {
    const Tensor one = ops::zeros({1});
    EXPECT_THROW(ops::assign(ops::expand(one, {5}), ops::ones({5})), Error);
    EXPECT_EQ(ops::item(one), 0);
    ops::assign(ops::expand(one, {1}), ops::ones({1}));  // one place, one element
    EXPECT_EQ(ops::item(one), 1);
    ops::assign(ops::expand(one, {0}), ops::ones({0}));
}

TEST_F(Dispatch, ARefusedWriteChangesNothing) {
    Tensor x = zeros({2});
    x.set_requires_grad(true);
    EXPECT_THROW(assign(x, ones({2})), Error);
    EXPECT_EQ(to_vector<float>(x), (std::vector<float>{0, 0}));
}

TEST_F(Dispatch, CostsAddUpOnEveryDevice) {
    const auto count = [](Device device) {
        const DefaultDevice here(device);
        const CostCounter counter;
        sum_of_squares(zeros({10, 10}));
        return std::vector<double>{counter.total().flops, counter.total().bytes, static_cast<double>(counter.calls())};
    };
    const std::vector<double> cpu = count(Device::cpu);
    EXPECT_EQ(cpu, count(Device::meta));
    EXPECT_GE(cpu[0], 200);
    EXPECT_GE(cpu[1], 400);
}

TEST_F(Dispatch, FlushToZeroIsCorrectedForTheCallAndRestored) {
    const unsigned before = _mm_getcsr();
    const int64_t corrected = cpu::FloatEnvironment::corrections();
    const Tensor tiny = full({1}, 1e-22, DType::f32);
    _mm_setcsr(before | 0x8040);
    const Tensor sum = sum_of_squares(tiny);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_GT(item(sum), 0.0) << "1e-44 is subnormal";
    EXPECT_EQ(after & 0x8040, 0x8040U);
    EXPECT_GT(cpu::FloatEnvironment::corrections(), corrected);
}

TEST_F(Dispatch, EveryErrorSampleOfTheTableSaysWhatItPromises) {
    // Error samples whose inputs need no particular values are tried here as the entry states them.
    for (const Op& op : table().all()) {
        for (const ErrorSample& sample : op.error_list()) {
            std::vector<Tensor> inputs;
            for (const SampleInput& input : sample.inputs) {
                if (input.fill == Fill::none) {
                    inputs.emplace_back();
                } else if (input.fill == Fill::integers) {
                    inputs.push_back(full(input.shape, static_cast<double>(input.low), DType::i64));
                } else {
                    inputs.push_back(ones(input.shape, input.fill == Fill::boolean ? DType::boolean : DType::f32));
                }
            }
            const NoGrad guard;
            const std::string message = message_of([&] { dispatch_all(op, inputs, sample.attributes); });
            EXPECT_NE(message.find(sample.message), std::string::npos)
                << op.name() << " should say \"" << sample.message << "\" but says: " << message;
        }
    }
}

}  // namespace
}  // namespace tenon::ops
