// The rotation of rope and its tables; see rotary.h for the formulas.
#include "tenon/cpu/sets/rotary.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/elements.h"
#include "tenon/cpu/sets/functions.h"

namespace tenon::cpu::TENON_CPU_SET {

void rotate_rows(const RotaryRows& p) {
    with_element(p.type, [&](auto e) {
        using E = decltype(e);
        const auto* x = static_cast<const typename E::Stored*>(p.x);
        auto* y = static_cast<typename E::Stored*>(p.y);
        const int64_t half = p.half;
        const bool inverse = p.inverse;
        for (int64_t row = 0; row < p.rows; ++row, x += p.x_row, y += p.y_row) {
            const float *cosines = p.cos + row * p.cos_row, *sines = p.sin + row * p.sin_row;
            over_vectors(half, [=](int64_t i, int lanes) {
                const Vec x1 = load_lanes<E>(x + i, lanes), x2 = load_lanes<E>(x + half + i, lanes);
                const Vec c = load_lanes<F32>(cosines + i, lanes);
                Vec s = load_lanes<F32>(sines + i, lanes);
                if (inverse) s = negate(s);
                const Vec first =
                    TENON_FAULT(rope_contracted) ? fma(x1, c, negate(mul(x2, s))) : sub(mul(x1, c), mul(x2, s));
                store_lanes<E>(y + i, first, lanes);
                store_lanes<E>(y + half + i, add(mul(x2, c), mul(x1, s)), lanes);
            });
        }
    });
}

void rotary_tables(const RotaryTables& p) {
    for (int64_t row = 0; row < p.positions; ++row) {
        const Vec position = broadcast(static_cast<float>(p.first + row));
        float *to_cos = p.cos + row * p.half, *to_sin = p.sin + row * p.half;
        const float* frequency = p.frequency;
        over_vectors(p.half, [=](int64_t i, int lanes) {
            const Vec angle = mul(position, load_lanes<F32>(frequency + i, lanes));
            store_lanes<F32>(to_cos + i, cos(angle), lanes);
            store_lanes<F32>(to_sin + i, sin(angle), lanes);
        });
    }
}

}  // namespace tenon::cpu::TENON_CPU_SET
