#include "tenon/cpu/sets/random.h"

#include "tenon/base/fault.h"
#include "tenon/cpu/sets/functions.h"
#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

TENON_RANDOM_FUNCTIONS

namespace {

// Sixteen blocks at once: word[w] lane l of the block at counter (low[l], high, step, leaf).
// Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", Philox4x32-10.
TENON_INLINE void philox(IntVec low, uint32_t high, const Stream& stream, IntVec* word) {
    IntVec c0 = low, c1 = broadcast_int(static_cast<int32_t>(high)),
           c2 = broadcast_int(static_cast<int32_t>(stream.step)), c3 = broadcast_int(static_cast<int32_t>(stream.leaf));
    const IntVec m0 = broadcast_int(static_cast<int32_t>(0xD2511F53u)),
                 m1 = broadcast_int(static_cast<int32_t>(0xCD9E8D57u));
    uint32_t k0 = static_cast<uint32_t>(stream.key), k1 = static_cast<uint32_t>(stream.key >> 32);
    for (int round = 0; round < 10; ++round) {
        const IntVec high0 = multiply_high_unsigned(m0, c0), low0 = mul(m0, c0);
        const IntVec high1 = multiply_high_unsigned(m1, c2), low1 = mul(m1, c2);
        c0 = bit_xor(bit_xor(high1, c1), broadcast_int(static_cast<int32_t>(k0)));
        c1 = low1;
        c2 = bit_xor(bit_xor(high0, c3), broadcast_int(static_cast<int32_t>(k1)));
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    word[0] = c0;
    word[1] = c1;
    word[2] = c2;
    word[3] = c3;
}

// The 64 blocks of a group, so placed that word[4 j + w] lane l is word w of block 4 l + j: element 16 l + 4 j + w.
// Transposing the sixteen vectors puts the elements in order.
TENON_INLINE void group_words(const Stream& stream, int64_t first, IntVec* word) {
    const uint64_t block = static_cast<uint64_t>(first) / 4;
    // 64 divides 2^32 and the first block: the low half does not carry within a group.
    const IntVec low = add(broadcast_int(static_cast<int32_t>(block)), shift_left(lane_indices(), 2));
    for (int j = 0; j < 4; ++j) {
        philox(add(low, broadcast_int(j)), static_cast<uint32_t>(block >> 32), stream, word + 4 * j);
    }
}

TENON_INLINE void put_in_order(IntVec* word) {
    Vec row[kLanes];
    for (int i = 0; i < kLanes; ++i) row[i] = as_float(word[i]);
    transpose(row);
    for (int i = 0; i < kLanes; ++i) word[i] = as_int(row[i]);
}

// How many of vector i's lanes belong to the first n elements of a group.
TENON_INLINE int lanes_of(int64_t n, int i) {
    const int64_t left = n - i * kLanes;
    return static_cast<int>(left < 0 ? 0 : left < kLanes ? left : kLanes);
}

// Runs make(first, word) for each group, which leaves sixteen vectors of elements, and stores them.
template <class Make>
TENON_INLINE void each_group(int64_t first, int64_t count, Make make) {
    for (int64_t done = 0; done < count; done += kRandomGroup) {
        make(first + done, done, count - done < kRandomGroup ? count - done : kRandomGroup);
    }
}

}  // namespace

void random_words(const Stream& stream, int64_t first, int64_t count, uint32_t* out) {
    each_group(first, count, [&](int64_t start, int64_t done, int64_t n) {
        IntVec word[kLanes];
        group_words(stream, start, word);
        put_in_order(word);
        for (int i = 0; i < kLanes; ++i) {
            store_int_partial(reinterpret_cast<int32_t*>(out + done + i * kLanes), word[i], lanes_of(n, i));
        }
    });
}

void uniforms(const Stream& stream, int64_t first, int64_t count, float* out) {
    each_group(first, count, [&](int64_t start, int64_t done, int64_t n) {
        IntVec word[kLanes];
        group_words(stream, start, word);
        put_in_order(word);
        for (int i = 0; i < kLanes; ++i) {
            const int dropped = TENON_FAULT(uniform_rounds) ? 1 : 8;
            const Vec u = mul(to_float(shift_right(word[i], dropped)), broadcast(dropped == 1 ? 0x1p-31f : 0x1p-24f));
            store_partial(out + done + i * kLanes, u, lanes_of(n, i));
        }
    });
}

// Box and Muller 1958 on (word 0, word 1) and (word 2, word 3) of each block, u = ((word >> 8) + 1) 2^-24 in (0, 1]:
// r = sqrt(-2 log u0), z = (r cos(2 pi u1), r sin(2 pi u1)).
void normals(const Stream& stream, int64_t first, int64_t count, float mean, float std, float* out) {
    const auto unit = [](IntVec word) {
        const int above_zero = TENON_FAULT(normal_takes_log_of_zero) ? 0 : 1;
        return mul(to_float(add(shift_right(word, 8), broadcast_int(above_zero))), broadcast(0x1p-24f));
    };
    each_group(first, count, [&](int64_t start, int64_t done, int64_t n) {
        IntVec word[kLanes];
        group_words(stream, start, word);
        Vec z[kLanes];
        for (int i = 0; i < kLanes; i += 2) {
            const Vec r = sqrt(mul(log(unit(word[i])), broadcast(-2.0f)));
            const Vec angle = mul(unit(word[i + 1]), broadcast(6.28318530717958647692f));
            z[i] = add(broadcast(mean), mul(broadcast(std), mul(r, cos(angle))));
            z[i + 1] = add(broadcast(mean), mul(broadcast(std), mul(r, sin(angle))));
        }
        transpose(z);
        for (int i = 0; i < kLanes; ++i) store_partial(out + done + i * kLanes, z[i], lanes_of(n, i));
    });
}

void drop(const Stream& stream, int64_t first, int64_t count, uint32_t threshold, float scale, const float* x,
          float* out) {
    // Comparisons are signed: flipping the top bit keeps the order of unsigned numbers.
    const IntVec flip = broadcast_int(static_cast<int32_t>(0x80000000u));
    const IntVec bound = bit_xor(broadcast_int(static_cast<int32_t>(threshold)), flip);
    each_group(first, count, [&](int64_t start, int64_t done, int64_t n) {
        IntVec word[kLanes];
        group_words(stream, start, word);
        put_in_order(word);
        for (int i = 0; i < kLanes; ++i) {
            const int lanes = lanes_of(n, i);
            const IntVec place = bit_xor(word[i], flip);
            const Mask dropped =
                TENON_FAULT(dropout_drops_the_threshold) ? mask_not(less(bound, place)) : less(place, bound);
            const Vec kept = mul(load_partial(x + done + i * kLanes, lanes), broadcast(scale));
            store_partial(out + done + i * kLanes, select(dropped, zero(), kept), lanes);
        }
    });
}

}  // namespace tenon::cpu::TENON_CPU_SET
