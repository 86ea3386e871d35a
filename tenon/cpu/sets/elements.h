// The 16-lane vector over memory of each floating storage type: loads convert exactly to f32, stores round once.
#pragma once

#include "tenon/cpu/sets/gemm_tile.h"
#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

struct F32 {
    using Stored = float;
    static TENON_INLINE Vec load_16(const float* p) { return load(p); }
    static TENON_INLINE Vec load_some(const float* p, int n) { return load_partial(p, n); }
    static TENON_INLINE void store_16(float* p, Vec v) { store(p, v); }
    static TENON_INLINE void store_some(float* p, Vec v, int n) { store_partial(p, v, n); }
};
struct Bf16 {
    using Stored = uint16_t;
    static TENON_INLINE Vec load_16(const uint16_t* p) { return load_bf16(p); }
    static TENON_INLINE Vec load_some(const uint16_t* p, int n) { return load_bf16_partial(p, n); }
    static TENON_INLINE void store_16(uint16_t* p, Vec v) { store_bf16(p, v); }
    static TENON_INLINE void store_some(uint16_t* p, Vec v, int n) { store_bf16_partial(p, v, n); }
};
struct F16 {
    using Stored = uint16_t;
    static TENON_INLINE Vec load_16(const uint16_t* p) { return load_f16(p); }
    static TENON_INLINE Vec load_some(const uint16_t* p, int n) { return load_f16_partial(p, n); }
    static TENON_INLINE void store_16(uint16_t* p, Vec v) { store_f16(p, v); }
    static TENON_INLINE void store_some(uint16_t* p, Vec v, int n) { store_f16_partial(p, v, n); }
};

// `lanes` is 16 but at the end of a row; where it is the constant 16, the other branch folds away.
template <class E>
TENON_INLINE Vec load_lanes(const typename E::Stored* p, int lanes) {
    return lanes == kLanes ? E::load_16(p) : E::load_some(p, lanes);
}
template <class E>
TENON_INLINE void store_lanes(typename E::Stored* p, Vec v, int lanes) {
    if (lanes == kLanes) {
        E::store_16(p, v);
    } else {
        E::store_some(p, v, lanes);
    }
}

// body(i, lanes) for each vector of a row of n elements; `lanes` is the constant 16 for all but a last, partial one.
template <class Body>
TENON_INLINE void over_vectors(int64_t n, Body body) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) body(i, kLanes);
    if (i < n) body(i, static_cast<int>(n - i));
}

// run(E{}) with the storage type that `type` names.
template <class Run>
TENON_INLINE void with_element(Element type, Run run) {
    switch (type) {
        case Element::f32:
            return run(F32{});
        case Element::bf16:
            return run(Bf16{});
        case Element::f16:
            return run(F16{});
    }
}

}  // namespace tenon::cpu::TENON_CPU_SET
