// Rows of a head made ready for the products: converted to f32, padded to whole vectors, or turned into panels of keys.
#include "tenon/base/fault.h"
#include "tenon/cpu/sets/attention_kernel.h"
#include "tenon/cpu/sets/elements.h"

namespace tenon::cpu::TENON_CPU_SET {

namespace {

// Elements [at, at + lanes) of a row; the lanes beyond are 0.
template <class E>
TENON_INLINE Vec load_part(const typename E::Stored* row, int64_t column, int64_t at, int lanes) {
    if (column == 1) return load_lanes<E>(row + at, lanes);
    float part[kLanes] = {};
    for (int i = 0; i < lanes; ++i) part[i] = first_lane(E::load_some(row + (at + i) * column, 1));
    return load(part);
}

}  // namespace

// to[row][d] for each row, zeros up to round_up(head_dim, 16).
void copy_head_rows(const HeadRows& from, int64_t rows, int64_t head_dim, float* to) {
    with_element(from.type, [&](auto e) {
        using E = decltype(e);
        const auto* first = static_cast<const typename E::Stored*>(from.data);
        for (int64_t row = 0; row < rows; ++row) {
            over_vectors(head_dim, [&](int64_t d, int lanes) {
                store(to + row * round_up(head_dim, kLanes) + d,
                      load_part<E>(first + row * from.row_stride, from.column_stride, d, lanes));
            });
        }
    });
}

// to[panel][d][16]: key 16 * panel + lane. Keys beyond the last are 0.
void pack_key_panels(const HeadRows& from, int64_t keys, int64_t head_dim, float* to) {
    with_element(from.type, [&](auto e) {
        using E = decltype(e);
        const auto* first = static_cast<const typename E::Stored*>(from.data);
        for (int64_t key = 0; key < keys; key += kLanes) {
            float* panel = to + key * head_dim;
            over_vectors(head_dim, [&](int64_t d, int lanes) {
                Vec square[kLanes];
                for (int64_t i = 0; i < kLanes; ++i) {
                    square[i] = key + i < keys
                                    ? load_part<E>(first + (key + i) * from.row_stride, from.column_stride, d, lanes)
                                    : zero();
                }
                transpose(square);
                for (int i = 0; i < lanes; ++i) store(panel + (d + i) * kLanes, square[i]);
            });
        }
    });
}

// delta[row] = Sum over d of grad * out, each product rounded (docs/numerics.md, Attention).
void attention_delta(const HeadRows& grad, const HeadRows& out, int64_t rows, int64_t head_dim, float* delta) {
    with_element(grad.type, [&](auto e) {
        using E = decltype(e);
        const auto *g = static_cast<const typename E::Stored*>(grad.data),
                   *o = static_cast<const typename E::Stored*>(out.data);
        for (int64_t row = 0; row < rows; ++row) {
            Vec sum = zero();
            over_vectors(head_dim, [&](int64_t d, int lanes) {
                const Vec left = load_part<E>(g + row * grad.row_stride, grad.column_stride, d, lanes);
                const Vec right = load_part<E>(o + row * out.row_stride, out.column_stride, d, lanes);
                if (TENON_FAULT(attention_delta_contracted)) {
                    sum = fma(left, right, sum);
                    return;
                }
                sum = add(sum, select(first_lanes(lanes), mul(left, right), zero()));
            });
            delta[row] = tree_sum(sum);
        }
    });
}

// The last step of a gradient kept in whole vectors: to[row][d] = from[row][d] * scale, rounded to its type.
void scale_head_rows(const float* from, int64_t from_row, int64_t rows, int64_t head_dim, float scale, Element type,
                     void* to, int64_t to_row) {
    with_element(type, [&](auto e) {
        using E = decltype(e);
        auto* first = static_cast<typename E::Stored*>(to);
        for (int64_t row = 0; row < rows; ++row) {
            over_vectors(head_dim, [&](int64_t d, int lanes) {
                store_lanes<E>(first + row * to_row + d, mul(load(from + row * from_row + d), broadcast(scale)), lanes);
            });
        }
    });
}

}  // namespace tenon::cpu::TENON_CPU_SET
