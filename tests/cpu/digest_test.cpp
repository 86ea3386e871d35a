#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tenon/cpu/digest.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/digest_key.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/provider.h"
#include "tests/cpu/sweep.h"

namespace tenon {
namespace {

using ops::from_values;
using ops::to_vector;

class Digest : public testing::Test {
protected:
    static void SetUpTestSuite() { cpu::register_kernels(); }
};

std::vector<int64_t> digest_of(const Tensor& x, int64_t offset = 0) {
    const ops::DigestKey key = ops::digest_key("model.embed_tokens.weight");
    return to_vector<int64_t>(ops::digest(x, key.n0, key.n1, offset));
}

// Random bits under any dtype.
Tensor noise(int64_t count, DType dtype) {
    std::vector<int64_t> words =
        to_vector<int64_t>(ops::randint_keyed(0, int64_t{1} << 32, {(count * size_of(dtype) + 3) / 4}, 11, 0, 0));
    std::vector<uint32_t> bits(words.begin(), words.end());
    return ops::from_bytes(bits.data(), count, {count}, dtype);
}

Tensor with_flipped_bit(const Tensor& x, int64_t at) {
    std::vector<uint8_t> bytes(static_cast<size_t>(x.numel() * size_of(x.dtype())));
    ops::copy_to_host(x, bytes.data());
    bytes[static_cast<size_t>(at * size_of(x.dtype()))] ^= 1;
    return ops::from_bytes(bytes.data(), x.numel(), x.shape(), x.dtype());
}

constexpr DType dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8};

TEST_F(Digest, KeyIsTheNamesSha256) {
    const ops::DigestKey key = ops::digest_key("abc");
    // SHA-256("abc") = ba7816bf 8f01cfea … (FIPS 180-4, appendix B.1).
    EXPECT_EQ(key.n0, 0xbf1678baU);
    EXPECT_EQ(key.n1, 0xeacf018fU);
}

// From tests/golden/make/digest.py: the definition in Python's integers.
template <typename T>
void expect_sums(const std::vector<T>& values, DType dtype, uint64_t first, uint64_t second) {
    const auto count = static_cast<int64_t>(values.size());
    const std::vector<int64_t> sums = digest_of(ops::from_bytes(values.data(), count, {count}, dtype), 5);
    EXPECT_EQ(static_cast<uint64_t>(sums[0]), first) << name_of(dtype);
    EXPECT_EQ(static_cast<uint64_t>(sums[1]), second) << name_of(dtype);
}

TEST_F(Digest, SumsAreTheDefinitionsInPython) {
    expect_sums<float>({1, -2, 3.5, 0, -0.0F, 100}, DType::f32, 0xdc57accec6780000, 0x3cc2989b66d80000);
    expect_sums<double>({1, -2, 3.5, 0, -0.0, 100}, DType::f64, 0xa707ab1e38590000, 0x6460abb594950000);
    expect_sums<uint16_t>({0x3c00, 0xc000, 0x4300, 0, 0x8000, 0x5640}, DType::f16, 0x0000e3a09e30b3c0,
                          0x0001485aef4c36c0);
    expect_sums<int64_t>({1, -2, int64_t{1} << 40}, DType::i64, 0x9f9daad18cf52ca8, 0xc49e553eed68a056);
    expect_sums<int32_t>({1, -2, 7}, DType::i32, 0x54694fae4b2e2372, 0x730d8715b448a286);
    expect_sums<uint8_t>({1, 255, 7}, DType::u8, 0x0000005608e7201f, 0x0000007a34dd3895);
}

TEST_F(Digest, EverySetAndThreadCountGivesTheDefinitionsSums) {
    const int before = cpu::threads();
    for (const DType dtype : dtypes) {
        const Tensor x = noise(50001, dtype);
        std::vector<int64_t> expected;
        {
            const ops::ForceProvider forced("digest", "reference");
            expected = digest_of(x, 5);
        }
        for (const auto set : sweep::sets()) {
            const cpu::ForcedInstructionSet forced(set);
            for (const int threads : {1, 2, 3}) {
                cpu::set_threads(threads);
                EXPECT_EQ(digest_of(x, 5), expected) << name_of(dtype) << " " << cpu::name(set);
            }
        }
    }
    cpu::set_threads(before);
}

TEST_F(Digest, AnySingleChangedElementChangesBothSums) {
    for (const DType dtype : dtypes) {
        const Tensor x = noise(300, dtype);
        const std::vector<int64_t> whole = digest_of(x);
        for (int64_t at = 0; at < 300; ++at) {
            const Tensor changed = with_flipped_bit(x, at);
            const std::vector<int64_t> sums = digest_of(changed);
            // A NaN that stays a NaN is the same value.
            const bool both_nan = is_floating(dtype) && sums == whole;
            if (both_nan) continue;
            EXPECT_NE(sums[0], whole[0]) << name_of(dtype) << " " << at;
            EXPECT_NE(sums[1], whole[1]) << name_of(dtype) << " " << at;
        }
    }
}

TEST_F(Digest, PartsOfAnyCutAddUp) {
    for (const DType dtype : dtypes) {
        const Tensor x = noise(40000, dtype);
        const std::vector<int64_t> whole = digest_of(x);
        for (const int64_t cut : {1, 7, 16384, 39999}) {
            const std::vector<int64_t> left = digest_of(ops::narrow(x, 0, 0, cut));
            const std::vector<int64_t> right = digest_of(ops::narrow(x, 0, cut, 40000 - cut), cut);
            for (size_t s = 0; s < 2; ++s) {
                EXPECT_EQ(static_cast<uint64_t>(left[s]) + static_cast<uint64_t>(right[s]),
                          static_cast<uint64_t>(whole[s]));
            }
        }
    }
}

TEST_F(Digest, SwappedElementsAreSeen) {
    EXPECT_NE(digest_of(from_values(std::vector<float>{1, 2}, {2})),
              digest_of(from_values(std::vector<float>{2, 1}, {2})));
}

TEST_F(Digest, NaNsCountAsOneAndZerosDiffer) {
    const std::vector<uint32_t> nans = {0x7fc00000, 0xffc12345, 0x7f800001};
    const std::vector<uint32_t> canonical(3, 0x7fc00000);
    EXPECT_EQ(digest_of(ops::from_bytes(nans.data(), 3, {3}, DType::f32)),
              digest_of(ops::from_bytes(canonical.data(), 3, {3}, DType::f32)));
    EXPECT_NE(digest_of(from_values(std::vector<float>{0.0F}, {1})),
              digest_of(from_values(std::vector<float>{-0.0F}, {1})));
}

TEST_F(Digest, AViewIsReadInLogicalOrder) {
    const Tensor x = ops::randn_keyed({30, 50}, 0, 1, 1, 0, 0);
    EXPECT_EQ(digest_of(ops::transpose(x)), digest_of(ops::clone(ops::transpose(x))));
    EXPECT_NE(digest_of(ops::transpose(x)), digest_of(x));
}

TEST_F(Digest, IndicesPast32BitsWrapByTheDefinition) {
    const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::vector<int64_t> y = {1, -2, 3, -4};
    const int64_t edge = (int64_t{1} << 32) - 3;
    const cpu::DigestSums fast = cpu::digest(x.data(), DType::f32, 8, 77, 99, edge);
    const cpu::DigestSums slow = cpu::digest_reference(x.data(), DType::f32, 8, 77, 99, edge);
    EXPECT_EQ(fast.first, slow.first);
    EXPECT_EQ(fast.second, slow.second);
    const cpu::DigestSums fast64 = cpu::digest(y.data(), DType::i64, 4, 77, 99, (int64_t{1} << 31) - 2);
    const cpu::DigestSums slow64 = cpu::digest_reference(y.data(), DType::i64, 4, 77, 99, (int64_t{1} << 31) - 2);
    EXPECT_EQ(fast64.first, slow64.first);
    EXPECT_EQ(fast64.second, slow64.second);
}

}  // namespace
}  // namespace tenon
