// One tile of a matrix product.   C[rows, columns] from A[rows, k] and B[k, columns]
// k goes in steps of kDepth. Each step packs its part of B into panels [kDepth][kColumns] and of A into slivers
// [kDepth][kRows], so that the micro-kernel reads both in a straight line, and continues every chain in C itself, or in
// a tile of f32 where C cannot hold one (16-bit C, and Store::add, which needs the finished chain).
// Cache use: a panel of B stays in L1 while the slivers of A stream from L2.

#include "tenon/cpu/sets/gemm_tile.h"

#include "tenon/cpu/sets/micro_kernel.h"

namespace tenon::cpu::TENON_CPU_SET {

namespace {

#if TENON_CPU_SET_avx512
constexpr int64_t kDepth = 256, kSliverRows = 14 * 16;
#else
constexpr int64_t kDepth = 384, kSliverRows = kRows * 24;
#endif
constexpr int64_t kSlack = 64;  // packing stores whole vectors past the last sliver

int64_t min(int64_t a, int64_t b) {
    return a < b ? a : b;
}
int64_t round_up(int64_t n, int64_t step) {
    return (n + step - 1) / step * step;
}

// How an element type becomes f32. Every conversion to f32 is exact.
struct F32 {
    using Type = float;
    static TENON_INLINE Vec whole(const float* p) { return load(p); }
    static TENON_INLINE Vec part(const float* p, int n) { return load_partial(p, n); }
};
struct Bf16 {
    using Type = uint16_t;
    static TENON_INLINE Vec whole(const uint16_t* p) { return load_bf16(p); }
    static TENON_INLINE Vec part(const uint16_t* p, int n) { return load_bf16_partial(p, n); }
};
struct F16 {
    using Type = uint16_t;
    static TENON_INLINE Vec whole(const uint16_t* p) { return load_f16(p); }
    static TENON_INLINE Vec part(const uint16_t* p, int n) { return load_f16_partial(p, n); }
};

// Packing: element (w, q) of the source, w along rows of A or columns of B, goes to
//     packed[(w / kWidth) * depth * kWidth + q * kWidth + w % kWidth].
// What a last, narrow panel holds beyond `width` is not defined; the micro-kernel drops those lanes.
struct Source {
    const void* first;
    int64_t w_stride, q_stride, width, depth;
};

// w adjacent: whole vectors, one row of the source at a time, so that its lines are read once and in order. A panel
// narrower than a vector is stored whole; the next q overwrites what spilled over.
template <int kWidth, class E>
TENON_INLINE void pack_adjacent(const Source& s, float* packed) {
    const auto* source = static_cast<const typename E::Type*>(s.first);
    constexpr int kStep = kWidth < kLanes ? kWidth : kLanes;
    for (int64_t q = 0; q < s.depth; ++q) {
        const typename E::Type* row = source + q * s.q_stride;
        for (int64_t w = 0; w < s.width; w += kStep) {
            float* to = packed + (w / kWidth * s.depth + q) * kWidth + w % kWidth;
            const int64_t left = s.width - w;
            store(to, left >= kLanes ? E::whole(row + w) : E::part(row + w, static_cast<int>(left)));
        }
    }
}

// q adjacent: 16 x 16 blocks turned in registers.
template <int kWidth, class E>
TENON_INLINE void pack_turned(const Source& s, float* packed) {
    const auto* source = static_cast<const typename E::Type*>(s.first);
    constexpr int kStep = kWidth < kLanes ? kWidth : kLanes;
    for (int64_t w = 0; w < s.width; w += kStep) {
        const int rows = static_cast<int>(min(kStep, s.width - w));
        for (int64_t q = 0; q < s.depth; q += kLanes) {
            const int steps = static_cast<int>(min(kLanes, s.depth - q));
            const typename E::Type* from = source + w * s.w_stride + q;
            float* to = packed + (w / kWidth * s.depth + q) * kWidth + w % kWidth;
            Vec block[kLanes];
            if (rows == kStep && steps == kLanes) {
                for (int i = 0; i < kStep; ++i) block[i] = E::whole(from + i * s.w_stride);
                for (int i = kStep; i < kLanes; ++i) block[i] = zero();
                transpose(block);
                for (int i = 0; i < kLanes; ++i) store(to + i * kWidth, block[i]);
            } else {
                for (int i = 0; i < kLanes; ++i) block[i] = i < rows ? E::part(from + i * s.w_stride, steps) : zero();
                transpose(block);
                for (int i = 0; i < steps; ++i) store(to + i * kWidth, block[i]);
            }
        }
    }
}

template <int kWidth, class E>
void pack_scattered(const Source& s, float* packed) {
    const auto* source = static_cast<const typename E::Type*>(s.first);
    for (int64_t w = 0; w < s.width; ++w) {
        for (int64_t q = 0; q < s.depth; ++q) {
            const Vec one = E::part(source + w * s.w_stride + q * s.q_stride, 1);
            packed[(w / kWidth * s.depth + q) * kWidth + w % kWidth] = first_lane(one);
        }
    }
}

template <int kWidth, class E>
void pack_as(const Source& s, float* packed) {
    if (s.w_stride == 1) return pack_adjacent<kWidth, E>(s, packed);
    if (s.q_stride == 1) return pack_turned<kWidth, E>(s, packed);
    pack_scattered<kWidth, E>(s, packed);
}

template <int kWidth>
void pack(Element type, const Source& s, float* packed) {
    switch (type) {
        case Element::f32:
            return pack_as<kWidth, F32>(s, packed);
        case Element::bf16:
            return pack_as<kWidth, Bf16>(s, packed);
        case Element::f16:
            return pack_as<kWidth, F16>(s, packed);
    }
}

const void* element(const void* base, Element type, int64_t offset) {
    const int64_t bytes = type == Element::f32 ? 4 : 2;
    return static_cast<const char*>(base) + offset * bytes;
}

// What is left to do once the chains in `from` are finished: into C by the store, the bias and the type.
void finish(const GemmTile& t, int64_t batch, const float* from, int64_t from_row) {
    const Gemm& g = *t.product;
    const int64_t first = batch * g.c_batch + t.row * g.c_row + t.column;
    for (int64_t i = 0; i < t.rows; ++i) {
        for (int64_t j = 0; j < t.columns; j += kLanes) {
            const int n = static_cast<int>(min(kLanes, t.columns - j));
            Vec sum = load_partial(from + i * from_row + j, n);
            const int64_t at = first + i * g.c_row + j;
            if (g.c_type == Element::f32) {
                float* c = static_cast<float*>(g.c) + at;
                if (g.bias != nullptr) sum = add(sum, load_partial(g.bias + t.column + j, n));
                store_partial(c, g.store == Store::add ? add(load_partial(c, n), sum) : sum, n);
                continue;
            }
            uint16_t* c = static_cast<uint16_t*>(g.c) + at;
            const bool bf16 = g.c_type == Element::bf16;
            if (g.store == Store::add) sum = add(bf16 ? load_bf16_partial(c, n) : load_f16_partial(c, n), sum);
            bf16 ? store_bf16_partial(c, sum, n) : store_f16_partial(c, sum, n);
        }
    }
}

void one_product(const GemmTile& t, int64_t batch) {
    const Gemm& g = *t.product;
    const bool in_place = g.c_type == Element::f32 && g.store != Store::add;
    float* packed_b = t.scratch;
    float* packed_a = packed_b + round_up(t.columns, kColumns) * min(kDepth, g.k) + kSlack;
    float* chains = packed_a + round_up(min(kSliverRows, t.rows), kRows) * min(kDepth, g.k) + kSlack;
    int64_t chains_row = t.columns;
    if (in_place) {
        chains = static_cast<float*>(g.c) + batch * g.c_batch + t.row * g.c_row + t.column;
        chains_row = g.c_row;
    }
    for (int64_t q = 0; q == 0 || q < g.k; q += kDepth) {
        const int64_t depth = min(kDepth, g.k - q);
        const int64_t b_first = batch * g.b_batch + t.column * g.b_column + q * g.b_row;
        pack<kColumns>(g.b_type, {element(g.b, g.b_type, b_first), g.b_column, g.b_row, t.columns, depth}, packed_b);
        for (int64_t i = 0; i < t.rows; i += kSliverRows) {
            const int64_t rows = min(kSliverRows, t.rows - i);
            const int64_t a_first = batch * g.a_batch + (t.row + i) * g.a_row + q * g.a_column;
            pack<kRows>(g.a_type, {element(g.a, g.a_type, a_first), g.a_row, g.a_column, rows, depth}, packed_a);
            multiply_packed({rows, t.columns, depth, packed_a, packed_b, chains + i * chains_row, chains_row,
                             q > 0 || g.store == Store::continue_chain});
        }
    }
    if (!in_place || g.bias != nullptr) finish(t, batch, chains, chains_row);
}

}  // namespace

GemmBlocks gemm_blocks() {
    return {kRows, kColumns, kDepth};
}

int64_t gemm_scratch(int64_t rows, int64_t columns, int64_t k) {
    const int64_t depth = min(kDepth, k);
    return (round_up(columns, kColumns) + round_up(min(kSliverRows, rows), kRows)) * depth + rows * columns +
           3 * kSlack;
}

void gemm_tile(const GemmTile& t) {
    for (int64_t batch = t.batch; batch < t.batch + t.batches; ++batch) one_product(t, batch);
}

}  // namespace tenon::cpu::TENON_CPU_SET
