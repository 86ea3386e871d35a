// Every fast product against the plain loops, bit for bit: shapes, layouts, types, stores, sets, threads.
#include "tenon/cpu/gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tenon/cpu/half.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/thread_pool.h"
#include "tests/cpu/sweep.h"

namespace {

using namespace tenon::cpu;

enum class Layout { rows, turned, strided, broadcast };

struct Case {
    int64_t batch, m, n, k;
    Layout a = Layout::rows, b = Layout::rows;
    Element a_type = Element::f32, b_type = Element::f32, c_type = Element::f32;
    Store store = Store::overwrite;
    bool bias = false;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.batch << " x (" << c.m << ", " << c.n << ", " << c.k << ") layouts " << static_cast<int>(c.a) << ' '
         << static_cast<int>(c.b) << " types " << static_cast<int>(c.a_type) << static_cast<int>(c.b_type)
         << static_cast<int>(c.c_type) << " store " << static_cast<int>(c.store) << (c.bias ? " bias" : "");
}

// A matrix of any element type and layout, allocated to the element so that a sanitizer sees a read past its end.
struct Matrix {
    std::vector<float> f32;
    std::vector<uint16_t> half;
    int64_t batch = 0, row = 0, column = 0;
    const void* data() const { return f32.empty() ? static_cast<const void*>(half.data()) : f32.data(); }
    void* data() { return f32.empty() ? static_cast<void*>(half.data()) : f32.data(); }
};

float draw(std::mt19937& random, bool special) {
    constexpr float kSpecial[] = {0.0f,
                                  -0.0f,
                                  0x1p-140f,
                                  -0x1p-149f,
                                  0x1p100f,
                                  -0x1p100f,
                                  1.0f,
                                  std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN()};
    if (special && random() % 16 == 0) return kSpecial[random() % std::size(kSpecial)];
    return static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
}

Matrix matrix(int64_t batch, int64_t rows, int64_t columns, Layout layout, Element type, std::mt19937& random,
              bool special) {
    Matrix m;
    switch (layout) {
        case Layout::rows:
            m.row = columns, m.column = 1, m.batch = rows * columns;
            break;
        case Layout::turned:
            m.row = 1, m.column = rows, m.batch = rows * columns;
            break;
        case Layout::strided:
            m.row = 2 * columns + 3, m.column = 2, m.batch = rows * m.row + 1;
            break;
        case Layout::broadcast:
            m.row = columns + 5, m.column = 1, m.batch = 0;
            break;
    }
    int64_t size = 0;
    if (batch * rows * columns > 0) size = (batch - 1) * m.batch + (rows - 1) * m.row + (columns - 1) * m.column + 1;
    if (type == Element::f32) m.f32.resize(static_cast<size_t>(size));
    if (type != Element::f32) m.half.resize(static_cast<size_t>(size));
    for (float& x : m.f32) x = draw(random, special);
    for (uint16_t& x : m.half)
        x = type == Element::bf16 ? float_to_bf16(draw(random, special)) : float_to_f16(draw(random, special));
    return m;
}

uint32_t canonical(float x) {
    return std::isnan(x) ? 0x7fc00000u : std::bit_cast<uint32_t>(x);
}

// The first element where the two differ, or -1.
int64_t first_difference(const Matrix& x, const Matrix& y) {
    for (size_t i = 0; i < x.f32.size(); ++i) {
        if (canonical(x.f32[i]) != canonical(y.f32[i])) return static_cast<int64_t>(i);
    }
    for (size_t i = 0; i < x.half.size(); ++i) {
        if (x.half[i] != y.half[i]) return static_cast<int64_t>(i);
    }
    return -1;
}

struct Problem {
    Matrix a, b, c;
    std::vector<float> bias;
    Gemm gemm;

    explicit Problem(const Case& s, bool special = false, uint32_t seed = 1) {
        std::mt19937 random(seed);
        a = matrix(s.batch, s.m, s.k, s.a, s.a_type, random, special);
        b = matrix(s.batch, s.k, s.n, s.b, s.b_type, random, special);
        c = matrix(s.batch, s.m, s.n + 3, Layout::rows, s.c_type, random, special);
        bias.resize(static_cast<size_t>(s.n));
        for (float& x : bias) x = draw(random, special);
        gemm.batch = s.batch, gemm.m = s.m, gemm.n = s.n, gemm.k = s.k;
        gemm.a = a.data(), gemm.a_batch = a.batch, gemm.a_row = a.row, gemm.a_column = a.column;
        gemm.b = b.data(), gemm.b_batch = b.batch, gemm.b_row = b.row, gemm.b_column = b.column;
        gemm.c_batch = c.batch, gemm.c_row = c.row;
        gemm.a_type = s.a_type, gemm.b_type = s.b_type, gemm.c_type = s.c_type;
        gemm.store = s.store;
        if (s.bias) gemm.bias = bias.data();
    }
    template <class Run>
    Matrix result(Run run) const {
        Matrix out = c;
        Gemm g = gemm;
        g.c = out.data();
        run(g);
        return out;
    }
};

void expect_reference_bits(const Case& c, bool special = false) {
    const Problem p(c, special);
    const Matrix expected = p.result([](const Gemm& g) { gemm_reference(g); });
    for (InstructionSet set : tenon::sweep::sets()) {
        const ForcedInstructionSet forced(set);
        EXPECT_EQ(first_difference(p.result([](const Gemm& g) { gemm(g); }), expected), -1)
            << name(set) << ": " << testing::PrintToString(c);
    }
}

class Threads {
public:
    explicit Threads(int n) : before_(threads()) { set_threads(n); }
    ~Threads() { set_threads(before_); }

private:
    int before_;
};

TEST(Gemm, EveryEdgeEqualsThePlainLoops) {
    for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 29}) {
        for (int64_t n : {1, 7, 15, 16, 17, 31, 32, 33, 50}) {
            for (int64_t k : {0, 1, 2, 15, 16, 17, 40}) {
                for (Layout b : {Layout::rows, Layout::turned}) {
                    expect_reference_bits({1, m, n, k, Layout::rows, b});
                    expect_reference_bits({1, m, n, k, Layout::turned, b});
                }
            }
        }
    }
}

TEST(Gemm, StepsOfKContinueTheChains) {
    for (int64_t m : {1, 3, 20}) {
        for (int64_t k : {255, 256, 257, 383, 384, 385, 800}) {
            for (Layout b : {Layout::rows, Layout::turned}) {
                expect_reference_bits({1, m, 37, k, Layout::rows, b});
                expect_reference_bits({1, m, 37, k, Layout::turned, b, Element::f32, Element::f32, Element::bf16});
                expect_reference_bits(
                    {1, m, 37, k, Layout::rows, b, Element::f32, Element::f32, Element::f32, Store::add});
            }
        }
    }
}

// Rounding to 16 bits, adding to C and the bias belong to the whole chain, not to a step of k.
TEST(Gemm, AChainIsFinishedOnceAfterAllStepsOfK) {
    constexpr Layout kRows = Layout::rows;
    constexpr Element kF32 = Element::f32, kBf16 = Element::bf16;
    for (int64_t m : {1, 20}) {
        expect_reference_bits({1, m, 37, 800, kRows, kRows, kBf16, kBf16, kBf16});
        expect_reference_bits({1, m, 37, 800, kRows, kRows, kF32, kF32, kF32, Store::add});
        expect_reference_bits({1, m, 37, 800, kRows, kRows, kF32, kF32, kF32, Store::overwrite, true});
    }
}

TEST(Gemm, LargeProductsWhoseTilesShareBEqualThePlainLoops) {
    expect_reference_bits({1, 203, 651, 331});
    expect_reference_bits({1, 331, 401, 411, Layout::turned, Layout::rows});
    expect_reference_bits({1, 203, 651, 331, Layout::rows, Layout::turned, Element::f32, Element::f32, Element::f32,
                           Store::overwrite, true});
    expect_reference_bits({2, 200, 500, 300, Layout::rows, Layout::broadcast, Element::bf16, Element::f16});
    expect_reference_bits({1, 203, 400, 500, Layout::rows, Layout::rows, Element::f32, Element::f32, Element::f32,
                           Store::continue_chain});
    expect_reference_bits(
        {1, 203, 400, 500, Layout::rows, Layout::rows, Element::f32, Element::f32, Element::f32, Store::add});
    expect_reference_bits({1, 130, 3100, 100, Layout::rows, Layout::turned});
}

TEST(Gemm, EveryLayoutTypeAndStoreEqualsThePlainLoops) {
    std::mt19937 random(5);
    constexpr Element kTypes[] = {Element::f32, Element::bf16, Element::f16};
    for (int round = 0; round < 400; ++round) {
        Case c{};
        c.batch = 1 + static_cast<int64_t>(random() % 3), c.m = 1 + static_cast<int64_t>(random() % 40);
        c.n = 1 + static_cast<int64_t>(random() % 70), c.k = static_cast<int64_t>(random() % 90);
        c.a = static_cast<Layout>(random() % 4), c.b = static_cast<Layout>(random() % 4);
        c.a_type = kTypes[random() % 3], c.b_type = kTypes[random() % 3], c.c_type = kTypes[random() % 3];
        c.store = static_cast<Store>(random() % 3);
        if (c.store == Store::continue_chain) c.c_type = Element::f32;
        c.bias = c.store == Store::overwrite && c.c_type == Element::f32 && random() % 2 == 0;
        expect_reference_bits(c);
    }
}

TEST(Gemm, NanInfinitySubnormalsAndSignedZerosFollowTheChain) {
    for (Layout b : {Layout::rows, Layout::turned}) {
        for (int64_t m : {1, 9, 40}) {
            expect_reference_bits({2, m, 45, 33, Layout::rows, b}, true);
            expect_reference_bits({1, m, 45, 33, Layout::rows, b, Element::bf16, Element::f16, Element::f16}, true);
        }
    }
}

TEST(Gemm, ThreadsChangeNoBit) {
    for (const Case& c :
         {Case{1, 203, 651, 331}, Case{1, 300, 300, 300, Layout::turned, Layout::turned}, Case{40, 33, 65, 70},
          Case{1, 1, 3000, 700, Layout::rows, Layout::turned},
          Case{1, 300, 200, 400, Layout::rows, Layout::rows, Element::f32, Element::f32, Element::bf16}}) {
        const Problem p(c);
        std::optional<Matrix> one;
        for (int n : {1, 2, 3, 4}) {
            const Threads count(n);
            const Matrix out = p.result([](const Gemm& g) { gemm(g); });
            if (!one) one = out;
            EXPECT_EQ(first_difference(out, *one), -1) << n << " threads, " << testing::PrintToString(c);
        }
    }
}

TEST(Gemm, ARowsBitsDoNotDependOnItsNeighbours) {
    const Problem p(Case{1, 150, 90, 400, Layout::rows, Layout::turned});
    for (InstructionSet set : tenon::sweep::sets()) {
        const ForcedInstructionSet forced(set);
        const Matrix together = p.result([](const Gemm& g) { gemm(g); });
        for (int64_t rows : {1, 2, 4, 5, 64}) {
            const Matrix apart = p.result([&](const Gemm& whole) {
                for (int64_t i = 0; i < whole.m; i += rows) {
                    Gemm g = whole;
                    g.m = std::min(rows, whole.m - i);
                    g.a = static_cast<const float*>(whole.a) + i * whole.a_row;
                    g.c = static_cast<float*>(whole.c) + i * whole.c_row;
                    gemm(g);
                }
            });
            EXPECT_EQ(first_difference(apart, together), -1) << name(set) << ", " << rows << " rows at a time";
        }
    }
}

TEST(Gemm, AChainCutAnywhereAndContinuedIsTheSameChain) {
    const Problem p(Case{1, 21, 40, 300});
    for (InstructionSet set : tenon::sweep::sets()) {
        const ForcedInstructionSet forced(set);
        const Matrix whole = p.result([](const Gemm& g) { gemm(g); });
        for (int64_t at : {1, 150, 299}) {
            const Matrix cut = p.result([&](const Gemm& g) {
                Gemm first = g, second = g;
                first.k = at;
                second.k = g.k - at;
                second.a = static_cast<const float*>(g.a) + at * g.a_column;
                second.b = static_cast<const float*>(g.b) + at * g.b_row;
                second.store = Store::continue_chain;
                gemm(first);
                gemm(second);
            });
            EXPECT_EQ(first_difference(cut, whole), -1) << name(set) << ", cut at " << at;
        }
    }
}

TEST(Gemm, EmptyDimensionsWriteNothingOrZeros) {
    for (InstructionSet set : tenon::sweep::sets()) {
        const ForcedInstructionSet forced(set);
        std::vector<float> c(12, 5.0f);
        Gemm g;
        g.m = 3, g.n = 4, g.k = 0, g.c = c.data(), g.c_row = 4;
        gemm(g);
        for (float x : c) EXPECT_EQ(canonical(x), 0u);
        c.assign(12, 5.0f);
        g.m = 0;
        gemm(g);
        g.m = 3, g.n = 0;
        gemm(g);
        g.n = 4, g.batch = 0;
        gemm(g);
        g.batch = 1, g.store = Store::add;
        gemm(g);
        for (float x : c) EXPECT_EQ(x, 5.0f);
    }
}

// The reference's own truth: f64 within the error of an f32 chain, integers exactly.
TEST(GemmReference, AgreesWithDoublePrecision) {
    const Problem p(Case{2, 9, 11, 60, Layout::turned, Layout::rows});
    const Matrix out = p.result([](const Gemm& g) { gemm_reference(g); });
    std::vector<double> a(p.a.f32.begin(), p.a.f32.end()), b(p.b.f32.begin(), p.b.f32.end()), c(p.c.f32.size());
    PlainGemm<double> g{2,        9,         11,      60,         a.data(), p.a.batch, p.a.row, p.a.column,
                        b.data(), p.b.batch, p.b.row, p.b.column, c.data(), p.c.batch, p.c.row};
    gemm_reference(g);
    for (int64_t batch = 0; batch < 2; ++batch) {
        for (int64_t i = 0; i < 9; ++i) {
            for (int64_t j = 0; j < 11; ++j) {
                const auto at = static_cast<size_t>(batch * p.c.batch + i * p.c.row + j);
                EXPECT_NEAR(out.f32[at], c[at], 60 * 0x1p-23);
            }
        }
    }
}

TEST(GemmReference, IntegersWrap) {
    const std::vector<int64_t> a = {INT64_MAX, 2, 3, 4}, b = {2, 5, 1, 7};
    std::vector<int64_t> c = {10, 20, 30, 40};
    PlainGemm<int64_t> g{1, 2, 2, 2, a.data(), 4, 2, 1, b.data(), 4, 2, 1, c.data(), 4, 2, Store::add};
    gemm_reference(g);
    const auto wrapped = static_cast<int64_t>(static_cast<uint64_t>(INT64_MAX) * 5u + 14u + 20u);
    EXPECT_EQ(c, (std::vector<int64_t>{-2 + 2 + 10, wrapped, 6 + 4 + 30, 15 + 28 + 40}));
}

}  // namespace
