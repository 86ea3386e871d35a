// One tile of a matrix product.   C[rows, columns] from A[rows, k] and B[k, columns]
// k goes in steps of kDepth. Each step packs its part of B into panels [kDepth][kColumns] and of A into slivers
// [kDepth][kRows], so that the micro-kernel reads both in a straight line, and continues every chain in C itself, or in
// a tile of f32 where C cannot hold one (16-bit C, and Store::add, which needs the finished chain).
// Cache use: a panel of B stays in L1 while the slivers of A stream from L2.

#include "tenon/cpu/sets/gemm_tile.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/micro_kernel.h"

namespace tenon::cpu::TENON_CPU_SET {

namespace {

#if TENON_CPU_SET_avx512
constexpr int64_t kDepth = 384, kSliverRows = 14 * 16;
#else
constexpr int64_t kDepth = 384, kSliverRows = kRows * 24;
#endif
// Between one panel and the next: keeps a power of two from sending every panel to the same cache sets, and takes what
// a whole-vector store spills past the end.
constexpr int64_t kGap = 32;
constexpr int64_t kAhead = 4;  // rows that packing asks for ahead of reading

int64_t min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// How an element type becomes f32. Every conversion to f32 is exact.
struct F32 {
    using Type = float;
    static TENON_INLINE Vec whole(const float* p) { return load(p); }
    static TENON_INLINE Vec part(const float* p, int n) { return load_partial(p, n); }
    static constexpr int kSteps = kTurn;
    template <int kCount>
    static TENON_INLINE void turned(const float* p, int64_t stride, Vec* columns) {
        load_turned<kCount>(p, stride, columns);
    }
};
// 16-bit types convert whole vectors, so they turn 16 columns at a time on every set.
template <class E, int kCount>
TENON_INLINE void convert_turned(const uint16_t* p, int64_t stride, Vec* columns) {
    for (int i = 0; i < kLanes; ++i) columns[i] = i < kCount ? E::whole(p + i * stride) : zero();
    transpose(columns);
}
struct Bf16 {
    using Type = uint16_t;
    static TENON_INLINE Vec whole(const uint16_t* p) { return load_bf16(p); }
    static TENON_INLINE Vec part(const uint16_t* p, int n) { return load_bf16_partial(p, n); }
    static constexpr int kSteps = kLanes;
    template <int kCount>
    static TENON_INLINE void turned(const uint16_t* p, int64_t stride, Vec* columns) {
        convert_turned<Bf16, kCount>(p, stride, columns);
    }
};
struct F16 {
    using Type = uint16_t;
    static TENON_INLINE Vec whole(const uint16_t* p) { return load_f16(p); }
    static TENON_INLINE Vec part(const uint16_t* p, int n) { return load_f16_partial(p, n); }
    static constexpr int kSteps = kLanes;
    template <int kCount>
    static TENON_INLINE void turned(const uint16_t* p, int64_t stride, Vec* columns) {
        convert_turned<F16, kCount>(p, stride, columns);
    }
};

// Packing: element (w, q) of the source, w along rows of A or columns of B, goes to
//     packed[(w / kWidth) * (depth * kWidth + kGap) + q * kWidth + w % kWidth].
// What a last, narrow panel holds beyond `width` is not defined; the micro-kernel drops those lanes.
constexpr int64_t panel_stride(int64_t width, int64_t depth) {
    return width * depth + kGap;
}
constexpr int64_t packed_size(int64_t width, int64_t count, int64_t depth) {
    return (count + width - 1) / width * panel_stride(width, depth);
}

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
    const int64_t stride = panel_stride(kWidth, s.depth), ahead = kAhead * s.q_stride;
    for (int64_t q = 0; q < s.depth; ++q) {
        const typename E::Type* row = source + q * s.q_stride;
        float* panel = packed + q * kWidth;
        int64_t w = 0;
        for (; w + kWidth <= s.width && w + kLanes <= s.width; w += kWidth, panel += stride) {
            __builtin_prefetch(row + ahead + w);
            for (int v = 0; v < kWidth; v += kStep) store(panel + v, E::whole(row + w + v));
        }
        for (; w < s.width; w += kStep) {
            const int left = static_cast<int>(min(kLanes, s.width - w));
            store(packed + w / kWidth * stride + q * kWidth + w % kWidth, E::part(row + w, left));
        }
    }
}

// q adjacent: blocks turned in registers. Each row of the source is a stream too short for the hardware to follow, so
// the next panel's lines are asked for ahead.
template <int kWidth, class E>
TENON_INLINE void pack_turned(const Source& s, float* packed) {
    const auto* source = static_cast<const typename E::Type*>(s.first);
    constexpr int kStep = kWidth < kLanes ? kWidth : kLanes;
    for (int64_t w = 0; w < s.width; w += kStep) {
        const int rows = static_cast<int>(min(kStep, s.width - w));
        float* panel = packed + w / kWidth * panel_stride(kWidth, s.depth) + w % kWidth;
        int64_t q = 0;
        if (rows == kStep) {
            for (; q + E::kSteps <= s.depth; q += E::kSteps) {
                const typename E::Type* from = source + w * s.w_stride + q;
                for (int i = 0; i < kStep; ++i) __builtin_prefetch(from + (kStep + i) * s.w_stride);
                Vec block[E::kSteps];
                E::template turned<kStep>(from, s.w_stride, block);
                for (int i = 0; i < E::kSteps; ++i) store(panel + (q + i) * kWidth, block[i]);
            }
        }
        for (; q < s.depth; q += kLanes) {
            const int steps = static_cast<int>(min(kLanes, s.depth - q));
            const typename E::Type* from = source + w * s.w_stride + q;
            Vec block[kLanes];
            for (int i = 0; i < kLanes; ++i) block[i] = i < rows ? E::part(from + i * s.w_stride, steps) : zero();
            transpose(block);
            for (int i = 0; i < steps; ++i) store(panel + (q + i) * kWidth, block[i]);
        }
    }
}

template <int kWidth, class E>
void pack_scattered(const Source& s, float* packed) {
    const auto* source = static_cast<const typename E::Type*>(s.first);
    for (int64_t w = 0; w < s.width; ++w) {
        for (int64_t q = 0; q < s.depth; ++q) {
            const Vec one = E::part(source + w * s.w_stride + q * s.q_stride, 1);
            packed[w / kWidth * panel_stride(kWidth, s.depth) + q * kWidth + w % kWidth] = first_lane(one);
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

// One row of A for the thin paths: f32, k adjacent.
template <class E>
void pack_row_as(const void* first, int64_t stride, int64_t depth, float* row) {
    const auto* source = static_cast<const typename E::Type*>(first);
    if (stride == 1) {
        for (int64_t q = 0; q < depth; q += kLanes) {
            const int n = static_cast<int>(min(kLanes, depth - q));
            store_partial(row + q, E::part(source + q, n), n);
        }
        return;
    }
    for (int64_t q = 0; q < depth; ++q) row[q] = first_lane(E::part(source + q * stride, 1));
}
void pack_row(Element type, const void* first, int64_t stride, int64_t depth, float* row) {
    switch (type) {
        case Element::f32:
            return pack_row_as<F32>(first, stride, depth, row);
        case Element::bf16:
            return pack_row_as<Bf16>(first, stride, depth, row);
        case Element::f16:
            return pack_row_as<F16>(first, stride, depth, row);
    }
}

const void* element(const void* base, Element type, int64_t offset) {
    const int64_t bytes = type == Element::f32 ? 4 : 2;
    return static_cast<const char*>(base) + offset * bytes;
}

// For planted faults: what storing and loading leaves of the first n lanes.
Vec through_bf16(Vec v, int n) {
    uint16_t rounded[kLanes];
    store_bf16_partial(rounded, v, n);
    return load_bf16_partial(rounded, n);
}

// What is left to do once the chains in `from` are finished: into C by the store, the bias and the type.
void finish(const GemmTile& t, int64_t batch, const float* from, int64_t from_row) {
    const Gemm& g = *t.product;
    const int64_t first = batch * g.c_batch + t.row * g.c_row + t.column;
    for (int64_t i = 0; i < t.rows; ++i) {
        for (int64_t j = 0; j < t.columns; j += kLanes) {
            const int n = static_cast<int>(min(kLanes, t.columns - j));
            Vec sum = load_partial(from + i * from_row + j, n);
            if (TENON_FAULT(bias_after_rounding) && g.c_type == Element::bf16) sum = through_bf16(sum, n);
            if (g.bias != nullptr) sum = add(sum, load_partial(g.bias + t.column + j, n));
            const int64_t at = first + i * g.c_row + j;
            if (g.c_type == Element::f32) {
                float* c = static_cast<float*>(g.c) + at;
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

// Rows few enough that packing B, or turning it, would cost more than it saves.
constexpr int64_t kFewRows = 4;

// B turned in registers and used at once:   C[i][j] = chain over k of A[i][k] * B[k][j], B's k adjacent (a weight
// [out, in] applied to a few rows). a: f32 [kCount][k].
template <int kCount, class E>
void thin_turned(const Source& b, const float* a, int64_t a_row, float* c, int64_t c_row, bool continue_chain) {
    const auto* source = static_cast<const typename E::Type*>(b.first);
    for (int64_t w = 0; w < b.width; w += kLanes) {
        const int columns = static_cast<int>(min(kLanes, b.width - w));
        Vec sum[kCount];
        for (int i = 0; i < kCount; ++i) sum[i] = continue_chain ? load_partial(c + i * c_row + w, columns) : zero();
        int64_t q = 0;
        if (columns == kLanes) {
            for (; q + E::kSteps <= b.depth; q += E::kSteps) {
                Vec block[E::kSteps];
                E::template turned<kLanes>(source + w * b.w_stride + q, b.w_stride, block);
#pragma GCC unroll 16
                for (int s = 0; s < E::kSteps; ++s) {
                    for (int i = 0; i < kCount; ++i) sum[i] = fma(broadcast(a[i * a_row + q + s]), block[s], sum[i]);
                }
            }
        }
        for (; q < b.depth; q += kLanes) {
            const int steps = static_cast<int>(min(kLanes, b.depth - q));
            const typename E::Type* from = source + w * b.w_stride + q;
            Vec block[kLanes];
            for (int r = 0; r < kLanes; ++r) block[r] = r < columns ? E::part(from + r * b.w_stride, steps) : zero();
            transpose(block);
            for (int s = 0; s < steps; ++s) {
                for (int i = 0; i < kCount; ++i) sum[i] = fma(broadcast(a[i * a_row + q + s]), block[s], sum[i]);
            }
        }
        for (int i = 0; i < kCount; ++i) store_partial(c + i * c_row + w, sum[i], columns);
    }
}

template <class E>
void thin_turned_rows(int64_t rows, const Source& b, const float* a, int64_t a_row, float* c, int64_t c_row, bool on) {
    switch (rows) {
        case 1:
            return thin_turned<1, E>(b, a, a_row, c, c_row, on);
        case 2:
            return thin_turned<2, E>(b, a, a_row, c, c_row, on);
        case 3:
            return thin_turned<3, E>(b, a, a_row, c, c_row, on);
        default:
            return thin_turned<4, E>(b, a, a_row, c, c_row, on);
    }
}

// B f32 with adjacent columns, read where it lies, many vectors of a row at once to hide the chains' latency.
template <int kCount>
void thin_straight(const Source& b, const float* a, int64_t a_row, float* c, int64_t c_row, bool continue_chain) {
    constexpr int kWide = kCount == 1 ? 8 : 4;
    const auto* source = static_cast<const float*>(b.first);
    int64_t w = 0;
    for (; w + kWide * kLanes <= b.width; w += kWide * kLanes) {
        micro_kernel<kCount, kWide>(b.depth, a, a_row, 1, source + w, b.q_stride, c + w, c_row, kWide * kLanes,
                                    continue_chain);
    }
    for (; w + kLanes <= b.width; w += kLanes) {
        micro_kernel<kCount, 1>(b.depth, a, a_row, 1, source + w, b.q_stride, c + w, c_row, kLanes, continue_chain);
    }
    if (w == b.width) return;
    const int columns = static_cast<int>(b.width - w);  // a whole vector could reach past the matrix
    Vec sum[kCount];
    for (int i = 0; i < kCount; ++i) sum[i] = continue_chain ? load_partial(c + i * c_row + w, columns) : zero();
    for (int64_t q = 0; q < b.depth; ++q) {
        const Vec right = load_partial(source + q * b.q_stride + w, columns);
        for (int i = 0; i < kCount; ++i) sum[i] = fma(broadcast(a[i * a_row + q]), right, sum[i]);
    }
    for (int i = 0; i < kCount; ++i) store_partial(c + i * c_row + w, sum[i], columns);
}

// A tile of few rows. False where the layout of B has no thin path.
bool thin(Element b_type, const Source& b, int64_t rows, const float* a, float* c, int64_t c_row, bool continue_chain) {
    const int64_t a_row = b.depth;
    if (b.q_stride == 1) {
        switch (b_type) {
            case Element::f32:
                thin_turned_rows<F32>(rows, b, a, a_row, c, c_row, continue_chain);
                break;
            case Element::bf16:
                thin_turned_rows<Bf16>(rows, b, a, a_row, c, c_row, continue_chain);
                break;
            case Element::f16:
                thin_turned_rows<F16>(rows, b, a, a_row, c, c_row, continue_chain);
                break;
        }
        return true;
    }
    if (b.w_stride != 1 || b_type != Element::f32) return false;
    switch (rows) {
        case 1:
            thin_straight<1>(b, a, a_row, c, c_row, continue_chain);
            break;
        case 2:
            thin_straight<2>(b, a, a_row, c, c_row, continue_chain);
            break;
        case 3:
            thin_straight<3>(b, a, a_row, c, c_row, continue_chain);
            break;
        default:
            thin_straight<4>(b, a, a_row, c, c_row, continue_chain);
            break;
    }
    return true;
}

Source part_of_b(const Gemm& g, int64_t batch, int64_t column, int64_t columns, int64_t q, int64_t depth) {
    const int64_t first = batch * g.b_batch + column * g.b_column + q * g.b_row;
    return {element(g.b, g.b_type, first), g.b_column, g.b_row, columns, depth};
}
Source part_of_a(const Gemm& g, int64_t batch, int64_t row, int64_t rows, int64_t q, int64_t depth) {
    const int64_t first = batch * g.a_batch + row * g.a_row + q * g.a_column;
    return {element(g.a, g.a_type, first), g.a_row, g.a_column, rows, depth};
}

// Where the parts of a tile's scratch begin.
struct Layout {
    int64_t packed_b, packed_a, chains, size;
};
Layout layout_of(const GemmTile& t) {
    const int64_t depth = min(kDepth, t.k_count);
    Layout l{};
    l.packed_a = t.packed_b != nullptr ? 0 : packed_size(kColumns, t.columns, depth);
    l.chains = l.packed_a + packed_size(kRows, min(kSliverRows, t.rows), depth);
    l.size = l.chains + (chains_in_place(*t.product) ? 0 : t.rows * t.columns);
    return l;
}

// One step of k for all rows of the tile.
void one_step(const GemmTile& t, const Layout& l, int64_t batch, int64_t q, int64_t depth, float* chains,
              int64_t chains_row) {
    const Gemm& g = *t.product;
    const bool restarts = TENON_FAULT(product_adds_each_step) && g.store == Store::add;
    const bool on = (q > 0 && !restarts) || g.store == Store::continue_chain;
    const Source b = part_of_b(g, batch, t.column, t.columns, q, depth);
    float* packed_a = t.scratch + l.packed_a;
    if (t.rows <= kFewRows && t.packed_b == nullptr &&
        (b.q_stride == 1 || (b.w_stride == 1 && g.b_type == Element::f32))) {
        for (int64_t i = 0; i < t.rows; ++i) {
            const Source a = part_of_a(g, batch, t.row + i, 1, q, depth);
            pack_row(g.a_type, a.first, a.q_stride, depth, packed_a + i * depth);
        }
        thin(g.b_type, b, t.rows, packed_a, chains, chains_row, on);
        return;
    }
    const float* packed_b = t.packed_b;
    if (packed_b == nullptr) {
        pack<kColumns>(g.b_type, b, t.scratch + l.packed_b);
        packed_b = t.scratch + l.packed_b;
    }
    for (int64_t i = 0; i < t.rows; i += kSliverRows) {
        const int64_t rows = min(kSliverRows, t.rows - i);
        pack<kRows>(g.a_type, part_of_a(g, batch, t.row + i, rows, q, depth), packed_a);
        multiply({rows, t.columns, depth, packed_a, 1, kRows, panel_stride(kRows, depth), packed_b, kColumns,
                  panel_stride(kColumns, depth), chains + i * chains_row, chains_row, on});
    }
}

// The planted fault: what a bf16 C leaves of the chains between two steps of k.
void round_chains(const GemmTile& t, float* chains, int64_t chains_row) {
    for (int64_t i = 0; i < t.rows * t.columns; ++i) {
        float* chain = chains + i / t.columns * chains_row + i % t.columns;
        store_partial(chain, through_bf16(load_partial(chain, 1), 1), 1);
    }
}

void one_product(const GemmTile& t, int64_t batch) {
    const Gemm& g = *t.product;
    const Layout l = layout_of(t);
    float* chains = t.scratch + l.chains;
    int64_t chains_row = t.columns;
    if (chains_in_place(g)) {
        chains = static_cast<float*>(g.c) + batch * g.c_batch + t.row * g.c_row + t.column;
        chains_row = g.c_row;
    }
    const int64_t end = t.k_first + t.k_count;
    for (int64_t q = t.k_first; q == t.k_first || q < end; q += kDepth) {  // once where k = 0: the chains are +0
        one_step(t, l, batch, q, min(kDepth, end - q), chains, chains_row);
        const bool early = q + kDepth < end;
        if (TENON_FAULT(product_rounds_each_step) && early && !chains_in_place(g)) round_chains(t, chains, chains_row);
        if (TENON_FAULT(bias_before_the_end) && early && q == 0 && g.bias != nullptr)
            finish(t, batch, chains, chains_row);
        if (TENON_FAULT(product_adds_each_step) && early && g.store == Store::add) finish(t, batch, chains, chains_row);
    }
    const bool finished = end == g.k, bias_is_in = TENON_FAULT(bias_before_the_end) && g.k > kDepth;
    if (finished && (!chains_in_place(g) || (g.bias != nullptr && !bias_is_in))) finish(t, batch, chains, chains_row);
}

}  // namespace

GemmBlocks gemm_blocks() {
    return {kRows, kColumns, kDepth};
}

int64_t gemm_scratch(const GemmTile& tile) {
    return layout_of(tile).size;
}

int64_t gemm_packed_b(int64_t columns, int64_t depth) {
    return packed_size(kColumns, columns, depth);
}

void gemm_pack_b(const Gemm& g, int64_t batch, int64_t column, int64_t columns, int64_t q, int64_t depth,
                 float* packed) {
    pack<kColumns>(g.b_type, part_of_b(g, batch, column, columns, q, depth), packed);
}

void gemm_tile(const GemmTile& t) {
    for (int64_t batch = t.batch; batch < t.batch + t.batches; ++batch) one_product(t, batch);
}

}  // namespace tenon::cpu::TENON_CPU_SET
