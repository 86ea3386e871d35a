// Every vector function of every instruction set against scalar truth: the C library, plain C, tenon/cpu/half.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tenon/cpu/half.h"
#include "tests/cpu/sets/vector_probe.h"

namespace {

using namespace tenon::cpu;
using Lanes = std::array<float, 16>;
using IntLanes = std::array<int32_t, 16>;

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
// What rounding, comparing and converting can trip over.
const std::vector<float> kEdges = {0.0f,
                                   -0.0f,
                                   1.0f,
                                   -1.0f,
                                   0.5f,
                                   -0.5f,
                                   1.5f,
                                   2.5f,
                                   -2.5f,
                                   0x1p-149f,
                                   -0x1p-149f,
                                   0x1p-126f,
                                   0x1.fffffcp-127f,
                                   0x1p127f,
                                   -0x1p127f,
                                   kInfinity,
                                   -kInfinity,
                                   kNan,
                                   8388607.5f,
                                   8388608.0f,
                                   16777216.0f,
                                   2147483648.0f,
                                   65504.0f,
                                   65519.99f,
                                   65520.0f,
                                   0x1p-24f,
                                   0x1p-25f,
                                   0x1.8p-25f,
                                   0x1p-14f,
                                   0x1.ffcp-15f,
                                   0x1.fffffep127f,
                                   1.00390625f,
                                   1.01171875f};

class VectorTest : public testing::TestWithParam<InstructionSet> {
protected:
    void SetUp() override {
        if (!supported(GetParam())) GTEST_SKIP() << "this processor lacks " << name(GetParam());
        forced_.emplace(GetParam());
    }
    float any_float() { return std::bit_cast<float>(static_cast<uint32_t>(random_())); }
    // Two thirds arbitrary bits, one third edges.
    float value() { return random_() % 3 == 0 ? kEdges[random_() % kEdges.size()] : any_float(); }
    float moderate() {
        return std::ldexp(static_cast<float>(static_cast<int32_t>(random_())), -20 - static_cast<int>(random_() % 24));
    }
    Lanes values() {
        Lanes v;
        for (float& x : v) x = value();
        return v;
    }
    std::mt19937_64 random_{7};

private:
    std::optional<ForcedInstructionSet> forced_;
};

bool same(float a, float b) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}
float scalar(Unary op, float a) {
    switch (op) {
        case Unary::square_root:
            return std::sqrt(a);
        case Unary::negate:
            return -a;
        case Unary::abs:
            return std::fabs(a);
        case Unary::nearest:
            return std::nearbyint(a);
        case Unary::floor:
            return std::floor(a);
        case Unary::ceil:
            return std::ceil(a);
        default:
            return std::trunc(a);
    }
}
float scalar(Binary op, float a, float b) {
    switch (op) {
        case Binary::add:
            return a + b;
        case Binary::sub:
            return a - b;
        case Binary::mul:
            return a * b;
        case Binary::div:
            return a / b;
        case Binary::maximum:
            return std::isnan(a) ? a : std::isnan(b) ? b : b > a ? b : a;
        default:
            return std::isnan(a) ? a : std::isnan(b) ? b : b < a ? b : a;
    }
}

TEST_P(VectorTest, UnaryFunctionsEqualTheScalarOnes) {
    for (int round = 0; round < 20000; ++round) {
        const Lanes a = values();
        for (int op = 0; op < static_cast<int>(Unary::count); ++op) {
            Lanes out;
            TENON_SELECT(probe_unary)(static_cast<Unary>(op), a.data(), out.data());
            for (size_t i = 0; i < 16; ++i) {
                ASSERT_TRUE(same(out[i], scalar(static_cast<Unary>(op), a[i]))) << "op " << op << " of " << a[i];
            }
        }
    }
}

TEST_P(VectorTest, BinaryFunctionsEqualTheScalarOnes) {
    for (int round = 0; round < 20000; ++round) {
        const Lanes a = values(), b = values();
        for (int op = 0; op < static_cast<int>(Binary::ldexp); ++op) {
            Lanes out;
            TENON_SELECT(probe_binary)(static_cast<Binary>(op), a.data(), b.data(), out.data());
            for (size_t i = 0; i < 16; ++i) {
                ASSERT_TRUE(same(out[i], scalar(static_cast<Binary>(op), a[i], b[i])))
                    << op << ": " << a[i] << ", " << b[i];
            }
        }
    }
}

TEST_P(VectorTest, LdexpRoundsOnce) {
    for (int round = 0; round < 20000; ++round) {
        Lanes p, n, out;
        for (size_t i = 0; i < 16; ++i) {
            p[i] = round % 7 == 0 ? kEdges[random_() % 4]
                                  : std::ldexp(1.0f + moderate() * 1e-4f, static_cast<int>(random_() % 60) - 30);
            n[i] = static_cast<float>(static_cast<int>(random_() % 800) - 400);
        }
        if (round % 5 == 0) p[3] = kNan, p[4] = kInfinity, p[5] = -kInfinity;
        TENON_SELECT(probe_binary)(Binary::ldexp, p.data(), n.data(), out.data());
        for (size_t i = 0; i < 16; ++i) {
            const int clamped = std::clamp(static_cast<int>(n[i]), -252, 252);
            ASSERT_TRUE(same(out[i], std::ldexp(p[i], clamped))) << p[i] << " * 2^" << n[i] << " = " << out[i];
        }
    }
}

TEST_P(VectorTest, FmaRoundsOnce) {
    for (int round = 0; round < 200000; ++round) {
        Lanes a, b, c, out;
        for (size_t i = 0; i < 16; ++i) {
            a[i] = round % 2 == 0 ? value() : moderate();
            b[i] = round % 2 == 0 ? value() : moderate();
            // c near -a*b, and c a tiny part of a*b, are where double rounding shows.
            const float product = a[i] * b[i];
            const uint64_t kind = random_() % 4;
            c[i] = kind == 0   ? value()
                   : kind == 1 ? -product
                   : kind == 2 ? std::nextafter(-product, kInfinity)
                               : std::ldexp(product, -24 - static_cast<int>(random_() % 4)) *
                                     (random_() % 2 == 0 ? 1.0f : -0.5f);
        }
        TENON_SELECT(probe_fma)(a.data(), b.data(), c.data(), out.data());
        for (size_t i = 0; i < 16; ++i) {
            ASSERT_TRUE(same(out[i], std::fma(a[i], b[i], c[i])))
                << std::hexfloat << a[i] << " * " << b[i] << " + " << c[i];
        }
    }
}

TEST_P(VectorTest, FmaRoundsSubnormalResultsOnce) {
    for (int round = 0; round < 100000; ++round) {
        Lanes a, b, c, out;
        for (size_t i = 0; i < 16; ++i) {
            a[i] = std::ldexp(1.0f + static_cast<float>(random_() % 8388608) * 0x1p-23f, -70);
            b[i] = std::ldexp(1.0f + static_cast<float>(random_() % 8388608) * 0x1p-23f,
                              -60 - static_cast<int>(random_() % 25));
            c[i] = static_cast<float>(random_() % 64) * 0x1p-149f * (random_() % 2 == 0 ? 1.0f : -1.0f);
        }
        TENON_SELECT(probe_fma)(a.data(), b.data(), c.data(), out.data());
        for (size_t i = 0; i < 16; ++i) {
            ASSERT_TRUE(same(out[i], std::fma(a[i], b[i], c[i])))
                << std::hexfloat << a[i] << " * " << b[i] << " + " << c[i];
        }
    }
}

TEST_P(VectorTest, ComparisonsAreFalseOnNanExceptNotEqual) {
    for (int round = 0; round < 20000; ++round) {
        const Lanes a = values(), b = values();
        for (size_t i = 0; i < 16; ++i) {
            const bool expected[] = {a[i]<b[i], a[i] <= b[i], a[i]> b[i], a[i] >= b[i], a[i] == b[i], a[i] != b[i],
                                     std::isnan(a[i])};
            for (int op = 0; op < static_cast<int>(Compare::count); ++op) {
                const unsigned bits = TENON_SELECT(probe_compare)(static_cast<Compare>(op), a.data(), b.data());
                ASSERT_EQ((bits >> i & 1u) != 0, expected[op]) << op << ": " << a[i] << ", " << b[i];
            }
        }
    }
}

TEST_P(VectorTest, MasksAreSetsOfLanes) {
    const Lanes a = values(), b = values();
    for (unsigned bits = 0; bits < 65536; ++bits) {
        Lanes out;
        TENON_SELECT(probe_select)(bits, a.data(), b.data(), out.data());
        for (size_t i = 0; i < 16; ++i) ASSERT_TRUE(same(out[i], (bits >> i & 1u) != 0 ? a[i] : b[i]));
        const unsigned other = (bits * 40503u) & 0xffffu;
        const unsigned expected = (bits & other) + 3 * (bits | other) + 5 * (bits ^ other) + 7 * (~bits & 0xffffu) +
                                  (bits != 0 ? 1u << 30 : 0u) + (bits == 0xffffu ? 1u << 31 : 0u);
        ASSERT_EQ(TENON_SELECT(probe_mask_algebra)(bits, other), expected);
    }
}

TEST_P(VectorTest, IntegersWrapAndShift) {
    for (int round = 0; round < 20000; ++round) {
        IntLanes a, b, out, left, right, arithmetic;
        for (size_t i = 0; i < 16; ++i) a[i] = static_cast<int32_t>(random_()), b[i] = static_cast<int32_t>(random_());
        for (int op = 0; op < static_cast<int>(IntBinary::count); ++op) {
            TENON_SELECT(probe_int)(static_cast<IntBinary>(op), a.data(), b.data(), out.data());
            for (size_t i = 0; i < 16; ++i) {
                const auto x = static_cast<uint32_t>(a[i]), y = static_cast<uint32_t>(b[i]);
                const uint32_t high = static_cast<uint32_t>(static_cast<uint64_t>(x) * y >> 32);
                const uint32_t expected[] = {x + y, x - y, x * y, high, x & y, x | y, x ^ y};
                ASSERT_EQ(static_cast<uint32_t>(out[i]), expected[op]) << op;
            }
        }
        TENON_SELECT(probe_shifts)(a.data(), left.data(), right.data(), arithmetic.data());
        for (size_t i = 0; i < 16; ++i) {
            const auto x = static_cast<uint32_t>(a[i]);
            ASSERT_EQ(static_cast<uint32_t>(left[i]), x << 3);
            ASSERT_EQ(static_cast<uint32_t>(right[i]), x >> 3);
            ASSERT_EQ(arithmetic[i], a[i] >> 3);
        }
    }
}

TEST_P(VectorTest, ConversionToIntegersRoundsToNearestEven) {
    for (int round = 0; round < 20000; ++round) {
        const Lanes a = round % 2 == 0 ? values() : [&] {
            Lanes v;
            for (float& x : v) x = moderate() + 0.5f;
            return v;
        }();
        IntLanes nearest, truncated;
        Lanes back;
        TENON_SELECT(probe_convert)(a.data(), nearest.data(), truncated.data(), back.data());
        for (size_t i = 0; i < 16; ++i) {
            const bool fits = std::nearbyint(a[i]) >= -2147483648.0f && std::nearbyint(a[i]) < 2147483648.0f;
            ASSERT_EQ(nearest[i], fits ? static_cast<int32_t>(std::nearbyint(a[i])) : INT32_MIN) << a[i];
            ASSERT_EQ(truncated[i], fits ? static_cast<int32_t>(a[i]) : INT32_MIN) << a[i];
            ASSERT_EQ(back[i], static_cast<float>(nearest[i]));
        }
    }
}

TEST_P(VectorTest, PartialLoadsAndStoresTouchTheirLanesOnly) {
    for (int n = 0; n <= 16; ++n) {
        // Exactly n elements: a sanitizer sees a read past them.
        std::vector<float> from(static_cast<size_t>(n));
        for (float& x : from) x = moderate();
        std::array<float, 32> to;
        to.fill(99.0f);
        TENON_SELECT(probe_partial)(from.data(), to.data(), n);
        std::vector<int32_t> whole(from.begin(), from.end());
        std::array<int32_t, 32> int_to;
        int_to.fill(99);
        TENON_SELECT(probe_int_partial)(whole.data(), int_to.data(), n);
        std::vector<uint16_t> half(static_cast<size_t>(n), 0x3c00);
        for (int i = 0; i < 16; ++i) {
            const auto at = static_cast<size_t>(i);
            EXPECT_EQ(to[at], i < n ? from[at] : 0.0f);
            EXPECT_EQ(to[16 + at], i < n ? from[at] : 99.0f);
            EXPECT_EQ(int_to[at], i < n ? whole[at] : 0);
            EXPECT_EQ(int_to[16 + at], i < n ? whole[at] : 99);
        }
        for (Half type : {Half::bf16, Half::f16}) {
            Lanes wide;
            std::array<uint16_t, 16> out;
            out.fill(0xabcd);
            TENON_SELECT(probe_half_partial)(type, half.data(), wide.data(), out.data(), n);
            const float one = type == Half::bf16 ? bf16_to_float(0x3c00) : 1.0f;
            for (int i = 0; i < 16; ++i) {
                EXPECT_EQ(wide[static_cast<size_t>(i)], i < n ? one : 0.0f);
                EXPECT_EQ(out[static_cast<size_t>(i)], i < n ? 0x3c00 : 0xabcd);
            }
        }
    }
}

TEST_P(VectorTest, SixteenBitFloatsConvertExactlyAndBack) {
    for (uint32_t bits = 0; bits < 65536; bits += 16) {
        std::array<uint16_t, 16> from;
        for (size_t i = 0; i < 16; ++i) from[i] = static_cast<uint16_t>(bits + i);
        for (Half type : {Half::bf16, Half::f16}) {
            Lanes wide;
            std::array<uint16_t, 16> back;
            TENON_SELECT(probe_load_half)(type, from.data(), wide.data());
            TENON_SELECT(probe_store_half)(type, wide.data(), back.data());
            for (size_t i = 0; i < 16; ++i) {
                ASSERT_TRUE(same(wide[i], type == Half::bf16 ? bf16_to_float(from[i]) : f16_to_float(from[i])))
                    << from[i];
                const uint16_t canonical = type == Half::bf16 ? 0x7fc0 : 0x7e00;
                ASSERT_EQ(back[i], std::isnan(wide[i]) ? canonical : from[i]);
            }
        }
    }
}

TEST_P(VectorTest, SixteenBitFloatsRoundToNearestEven) {
    for (int round = 0; round < 200000; ++round) {
        Lanes from = values();
        if (round % 2 == 1) {  // around f16's range, where ties and subnormals are
            for (float& x : from)
                x = std::ldexp(static_cast<float>(static_cast<int>(random_() % 8192) - 4096) * 0.5f,
                               -static_cast<int>(random_() % 36));
        }
        std::array<uint16_t, 16> bf16, f16;
        TENON_SELECT(probe_store_half)(Half::bf16, from.data(), bf16.data());
        TENON_SELECT(probe_store_half)(Half::f16, from.data(), f16.data());
        for (size_t i = 0; i < 16; ++i) {
            ASSERT_EQ(bf16[i], float_to_bf16(from[i])) << std::hexfloat << from[i];
            ASSERT_EQ(f16[i], float_to_f16(from[i])) << std::hexfloat << from[i];
        }
    }
}

// The scalar conversions themselves, against a definition without bit tricks: the nearest of all finite values.
TEST(Half, RoundsToTheNearestOfAllValues) {
    std::mt19937_64 random{3};
    std::vector<float> finite;
    for (uint32_t bits = 0; bits < 0x7c00; ++bits) finite.push_back(f16_to_float(static_cast<uint16_t>(bits)));
    for (int round = 0; round < 100000; ++round) {
        const float x = std::ldexp(static_cast<float>(random() % 16777216), -static_cast<int>(random() % 50) + 14);
        if (x >= 65520.0f) {
            ASSERT_EQ(float_to_f16(x), 0x7c00);
            continue;
        }
        const auto above = static_cast<size_t>(std::lower_bound(finite.begin(), finite.end(), x) - finite.begin());
        if (above == finite.size()) {
            ASSERT_EQ(float_to_f16(x), 0x7bff);
            continue;
        }
        size_t nearest = above;
        if (above > 0) {
            const double up = static_cast<double>(finite[above]) - x, down = x - static_cast<double>(finite[above - 1]);
            if (down < up || (down == up && (above - 1) % 2 == 0)) nearest = above - 1;
        }
        ASSERT_EQ(float_to_f16(x), nearest) << std::hexfloat << x;
        ASSERT_EQ(float_to_f16(-x), nearest | 0x8000u);
    }
}

TEST_P(VectorTest, TreesPairLanesEightFourTwoOne) {
    for (int round = 0; round < 20000; ++round) {
        Lanes a;
        for (float& x : a) x = round % 4 == 0 ? value() : moderate();
        const auto tree = [&](auto combine) {
            Lanes t = a;
            for (size_t step = 8; step >= 1; step /= 2) {
                for (size_t i = 0; i < step; ++i) t[i] = combine(t[i], t[i + step]);
            }
            return t[0];
        };
        EXPECT_TRUE(same(TENON_SELECT(probe_tree_sum)(a.data()), tree([](float x, float y) { return x + y; })));
        EXPECT_TRUE(same(TENON_SELECT(probe_tree_maximum)(a.data()),
                         tree([](float x, float y) { return scalar(Binary::maximum, x, y); })));
    }
}

TEST_P(VectorTest, TransposeSwapsRowsAndLanes) {
    std::array<float, 256> from, to;
    for (size_t i = 0; i < 256; ++i) from[i] = static_cast<float>(i);
    TENON_SELECT(probe_transpose)(from.data(), to.data());
    for (size_t i = 0; i < 16; ++i) {
        for (size_t j = 0; j < 16; ++j) EXPECT_EQ(to[16 * i + j], from[16 * j + i]);
    }
}

INSTANTIATE_TEST_SUITE_P(Sets, VectorTest,
                         testing::Values(InstructionSet::plain, InstructionSet::avx2, InstructionSet::avx512),
                         [](const auto& param) { return std::string(name(param.param)); });

}  // namespace
