#include "tenon/cpu/sets/copy.h"

#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

TENON_TRANSPOSE_FUNCTIONS

namespace {

struct Words {
    using Stored = uint32_t;
    static TENON_INLINE IntVec load_lanes(const uint32_t* p, int n) {
        const auto* words = reinterpret_cast<const int32_t*>(p);
        return n == kLanes ? load_int(words) : load_int_partial(words, n);
    }
    static TENON_INLINE void store_lanes(uint32_t* p, IntVec v, int n) {
        auto* words = reinterpret_cast<int32_t*>(p);
        if (n == kLanes) {
            store_int(words, v);
        } else {
            store_int_partial(words, v, n);
        }
    }
};

struct Halves {
    using Stored = uint16_t;
    static TENON_INLINE IntVec load_lanes(const uint16_t* p, int n) {
        return n == kLanes ? load_u16(p) : load_u16_partial(p, n);
    }
    static TENON_INLINE void store_lanes(uint16_t* p, IntVec v, int n) {
        if (n == kLanes) {
            store_u16(p, v);
        } else {
            store_u16_partial(p, v, n);
        }
    }
};

TENON_INLINE int lanes_left(int64_t n, int64_t i) {
    return static_cast<int>(n - i < kLanes ? n - i : kLanes);
}

// One block of at most 16 by 16, in registers. Loads and shuffles keep any bits.
template <class E>
TENON_INLINE void transpose_block(const typename E::Stored* from, int64_t from_stride, typename E::Stored* to,
                                  int64_t to_stride, int height, int width) {
    Vec block[kLanes];
    for (int i = 0; i < kLanes; ++i) {
        block[i] = i < width ? as_float(E::load_lanes(from + i * from_stride, height)) : zero();
    }
    transpose(block);
    for (int i = 0; i < height; ++i) E::store_lanes(to + i * to_stride, as_int(block[i]), width);
}

// Each line of memory that a whole block touches is read and written whole.
template <class E>
TENON_INLINE void transpose_blocks(const typename E::Stored* from, int64_t from_stride, typename E::Stored* to,
                                   int64_t to_stride, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; r += kLanes) {
        const int height = lanes_left(rows, r);
        for (int64_t c = 0; c < columns; c += kLanes) {
            const int width = lanes_left(columns, c);
            const auto* source = from + c * from_stride + r;
            auto* target = to + r * to_stride + c;
            // The constants let the compiler keep a whole block in registers.
            if (height == kLanes && width == kLanes) {
                transpose_block<E>(source, from_stride, target, to_stride, kLanes, kLanes);
            } else {
                transpose_block<E>(source, from_stride, target, to_stride, height, width);
            }
        }
    }
}

}  // namespace

void transpose_words(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride, int64_t rows,
                     int64_t columns) {
    transpose_blocks<Words>(from, from_stride, to, to_stride, rows, columns);
}

void transpose_halves(const uint16_t* from, int64_t from_stride, uint16_t* to, int64_t to_stride, int64_t rows,
                      int64_t columns) {
    transpose_blocks<Halves>(from, from_stride, to, to_stride, rows, columns);
}

}  // namespace tenon::cpu::TENON_CPU_SET
