// Sums, greatest and least of rows and columns; see reductions.h.
#include "tenon/cpu/sets/reductions.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/lane_sums.h"
#include "tenon/cpu/sets/row_extremes.h"

namespace tenon::cpu::TENON_CPU_SET {

namespace {

struct Sum {
    static constexpr float identity = 0;
    static TENON_INLINE Vec meet(Vec a, Vec b) { return add(a, b); }
};
// kRows rows side by side: the latency of one row's chain is the others' time.
template <class E, int kRows>
TENON_INLINE void sum_rows(const typename E::Stored* x, int64_t row_stride, int64_t n, float* out) {
    sum_terms<kRows>(
        n, [=](int s, int64_t i, int lanes) { return load_lanes<E>(x + s * row_stride + i, lanes); }, out);
}

// The planted fault: what a loop over one register of 8 lanes gives.
template <class E>
float sum_in_eight_lanes(const typename E::Stored* x, int64_t n) {
    float lanes[8] = {};
    for (int64_t i = 0; i < n; ++i) lanes[i % 8] += first_lane(E::load_some(x + i, 1));
    for (int half = 4; half > 0; half /= 2) {
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

// The planted faults: elements that a comparison would not tell apart, or not take, are passed over.
template <class E, class Op>
float careless_extreme(const typename E::Stored* x, int64_t n) {
    Vec best = broadcast(Op::identity);
    for (int64_t i = 0; i < n; ++i) {
        const Vec v = broadcast(first_lane(E::load_some(x + i, 1)));
        if (!any(TENON_FAULT(extremes_skip_nan) ? is_nan(v) : equal(v, best))) best = Op::meet(best, v);
    }
    return first_lane(best);
}

template <class E, class Op>
void extremes_of_rows(const ReduceRows& r) {
    const auto* x = static_cast<const typename E::Stored*>(r.x);
    if (TENON_FAULT(extremes_skip_nan) || TENON_FAULT(extremes_keep_first_zero)) {
        for (int64_t row = 0; row < r.rows; ++row) r.out[row] = careless_extreme<E, Op>(x + row * r.row_stride, r.n);
        return;
    }
    for (int64_t row = 0; row < r.rows; ++row) r.out[row] = extreme_of_row<E, Op>(x + row * r.row_stride, r.n);
}

template <class E>
void sums_of_rows(const ReduceRows& r) {
    const auto* x = static_cast<const typename E::Stored*>(r.x);
    int64_t row = 0;
    for (; TENON_FAULT(sum_lanes_by_width) && row < r.rows; ++row) {
        r.out[row] = sum_in_eight_lanes<E>(x + row * r.row_stride, r.n);
    }
    for (; row + 4 <= r.rows; row += 4) sum_rows<E, 4>(x + row * r.row_stride, r.row_stride, r.n, r.out + row);
    for (; row < r.rows; ++row) sum_rows<E, 1>(x + row * r.row_stride, r.row_stride, r.n, r.out + row);
}

// 16 accumulators a column, by row mod 16. Four groups of 16 rows at a time, so that an accumulator is loaded and
// stored once for four additions.
template <class E, class Op>
void columns_of_block(const ReduceColumns& r) {
    const auto* x = static_cast<const typename E::Stored*>(r.x);
    alignas(64) float lanes_of[kLanes][kColumnTile];
    for (auto& lane : lanes_of) {
        for (float& value : lane) value = Op::identity;
    }
    const int64_t* offsets = r.offsets;
    const int64_t columns = r.columns, n = r.n;
    int64_t row = 0;
    for (; row + 4 * kLanes <= n; row += 4 * kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            const int64_t* at = offsets + row + lane;
            const auto *x0 = x + at[0], *x1 = x + at[16], *x2 = x + at[32], *x3 = x + at[48];
            float* sums = lanes_of[lane];
            over_vectors(columns, [=](int64_t c, int lanes) {
                Vec v = Op::meet(load(sums + c), load_lanes<E>(x0 + c, lanes));
                v = Op::meet(v, load_lanes<E>(x1 + c, lanes));
                v = Op::meet(v, load_lanes<E>(x2 + c, lanes));
                store(sums + c, Op::meet(v, load_lanes<E>(x3 + c, lanes)));
            });
        }
    }
    for (; row < n; ++row) {
        const auto* from = x + offsets[row];
        float* sums = lanes_of[row % kLanes];
        over_vectors(columns, [=](int64_t c, int lanes) {
            store(sums + c, Op::meet(load(sums + c), load_lanes<E>(from + c, lanes)));
        });
    }
    over_vectors(columns, [&](int64_t c, int lanes) {
        Vec v[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) v[lane] = load(lanes_of[lane] + c);
        for (int half = kLanes / 2; half > 0; half /= 2) {
            for (int lane = 0; lane < half; ++lane) v[lane] = Op::meet(v[lane], v[lane + half]);
        }
        store_lanes<F32>(r.out + c, v[0], lanes);
    });
}

}  // namespace

void reduce_rows(const ReduceRows& r) {
    with_element(r.type, [&](auto e) {
        using E = decltype(e);
        switch (r.kind) {
            case Reduction::sum:
                return sums_of_rows<E>(r);
            case Reduction::maximum:
                return extremes_of_rows<E, Greatest>(r);
            case Reduction::minimum:
                return extremes_of_rows<E, Least>(r);
        }
    });
}

void reduce_columns(const ReduceColumns& r) {
    with_element(r.type, [&](auto e) {
        using E = decltype(e);
        switch (r.kind) {
            case Reduction::sum:
                return columns_of_block<E, Sum>(r);
            case Reduction::maximum:
                return columns_of_block<E, Greatest>(r);
            case Reduction::minimum:
                return columns_of_block<E, Least>(r);
        }
    });
}

// The first index of the greatest of n >= 1 elements, the first NaN counting as greatest.
int64_t first_greatest(Element type, const void* elements, int64_t n) {
    int64_t found = 0;
    with_element(type, [&](auto e) {
        using E = decltype(e);
        const auto* x = static_cast<const typename E::Stored*>(elements);
        const Vec greatest = broadcast(extreme_of_row<E, Greatest>(x, n));
        const bool nan = any(is_nan(greatest));
        for (int64_t i = 0; i < n; i += kLanes) {
            const int lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
            const Vec v = load_lanes<E>(x + i, lanes);
            const unsigned hits = mask_bits(mask_and(first_lanes(lanes), nan ? is_nan(v) : equal(v, greatest)));
            if (hits != 0) {
                found = i + __builtin_ctz(hits);
                return;
            }
        }
    });
    return found;
}

}  // namespace tenon::cpu::TENON_CPU_SET
