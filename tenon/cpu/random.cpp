#include "tenon/cpu/random.h"

#include <algorithm>

#include "tenon/base/fault.h"
#include "tenon/cpu/convert.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/numbers.h"
#include "tenon/cpu/sets/random.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/scalar/host.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(TENON_RANDOM_FUNCTIONS)

namespace {

// A multiple of the group that fits a tile's numbers into L1.
constexpr int64_t tile = 4096;
static_assert(tile % kRandomGroup == 0);

Stream stream_of(const Draw& draw) {
    return {draw.key, draw.step, draw.leaf};
}

// body(first, count) for each tile.
template <typename Body>
void parallel_tiles(int64_t count, Body body) {
    if (count <= tile) return body(int64_t{0}, count);
    parallel_for((count + tile - 1) / tile, [&](int64_t t) { body(t * tile, std::min(tile, count - t * tile)); });
}

// make(first, count, floats) for each tile, converted where the dtype is not f32.
template <typename Make>
void fill_floats(void* to, DType dtype, int64_t count, Make make) {
    parallel_tiles(count, [&](int64_t first, int64_t length) {
        char* target = static_cast<char*>(to) + first * size_of(dtype);
        if (dtype == DType::f32) {
            make(first, length, reinterpret_cast<float*>(target));
            return;
        }
        float floats[tile];
        make(first, length, floats);
        convert_row(floats, DType::f32, 1, target, dtype, 1, length);
    });
}

// A 16-bit dtype takes as many leading bits as it holds: rounding all 24 would give 1 now and then.
void keep_below_one(DType dtype, int64_t count, float* uniforms) {
    if (size_of(dtype) != 2) return;
    const float units = dtype == DType::bf16 ? 0x1p8F : 0x1p11F;
    for (int64_t i = 0; i < count; ++i) {
        uniforms[i] = static_cast<float>(static_cast<int32_t>(uniforms[i] * units)) / units;
    }
}

// Made in f64 and rounded once (docs/numerics.md).
double kept_scale(double p) {
    return 1.0 / (1.0 - p);
}

// word i of the draw >= threshold ? x scale : 0, by any source of words.
template <typename Number, typename Words>
void drop_plainly(const typename Number::Stored* x, typename Number::Stored* out, int64_t count, uint64_t threshold,
                  double scale, Words word) {
    const auto factor = static_cast<typename Number::Working>(scale);
    for (int64_t i = 0; i < count; ++i) {
        out[i] = word(i) >= threshold ? Number::store(Number::load(x[i]) * factor) : typename Number::Stored{0};
    }
}

float normal_of(const Draw& draw, int64_t i) {
    const auto unit = [&](int64_t at) { return static_cast<float>((random_word(draw, at) >> 8) + 1) * 0x1p-24F; };
    const int64_t pair = i / 2 * 2;
    const float r = __builtin_sqrtf(scalar::host::log(unit(pair)) * -2.0F);
    const float angle = unit(pair + 1) * 6.28318530717958647692F;
    return r * (i % 2 == 0 ? scalar::host::cos(angle) : scalar::host::sin(angle));
}

}  // namespace

void fill_uniform(const Draw& draw, void* to, DType dtype, int64_t count) {
    fill_floats(to, dtype, count, [&](int64_t first, int64_t length, float* floats) {
        TENON_SELECT(uniforms)(stream_of(draw), first, length, floats);
        keep_below_one(dtype, length, floats);
    });
}

void fill_normal(const Draw& draw, double mean, double std, void* to, DType dtype, int64_t count) {
    fill_floats(to, dtype, count, [&](int64_t first, int64_t length, float* floats) {
        TENON_SELECT(normals)
        (stream_of(draw), first, length, static_cast<float>(mean), static_cast<float>(std), floats);
    });
}

void fill_integers(const Draw& draw, int64_t low, int64_t n, void* to, DType dtype, int64_t count) {
    parallel_tiles(count, [&](int64_t first, int64_t length) {
        uint32_t words[tile];
        int64_t values[tile];
        TENON_SELECT(random_words)(stream_of(draw), first, length, words);
        for (int64_t i = 0; i < length; ++i) {
            const auto range = static_cast<uint64_t>(n);
            values[i] = low + static_cast<int64_t>(TENON_FAULT(randint_by_modulo) ? words[i] % range
                                                                                  : uint64_t{words[i]} * range >> 32);
        }
        convert_row(values, DType::i64, 1, static_cast<char*>(to) + first * size_of(dtype), dtype, 1, length);
    });
}

void drop_elements(const Draw& draw, double p, const void* x, void* out, DType dtype, int64_t count) {
    const uint64_t threshold = dropout_threshold(p);
    const bool fits = threshold <= 0xffffffffU;
    with_floating(dtype, "dropout", [&](auto number) {
        using Number = decltype(number);
        using Stored = typename Number::Stored;
        parallel_tiles(count, [&](int64_t first, int64_t length) {
            const auto* from = static_cast<const Stored*>(x) + first;
            auto* to = static_cast<Stored*>(out) + first;
            if constexpr (std::is_same_v<Number, F32>) {
                if (fits) {
                    TENON_SELECT(drop)
                    (stream_of(draw), first, length, static_cast<uint32_t>(threshold),
                     static_cast<float>(kept_scale(p)), from, to);
                    return;
                }
            }
            uint32_t words[tile];
            TENON_SELECT(random_words)(stream_of(draw), first, length, words);
            drop_plainly<Number>(from, to, length, threshold, kept_scale(p), [&](int64_t i) { return words[i]; });
        });
    });
}

void fill_uniform_reference(const Draw& draw, void* to, DType dtype, int64_t count) {
    fill_floats(to, dtype, count, [&](int64_t first, int64_t length, float* floats) {
        for (int64_t i = 0; i < length; ++i) floats[i] = uniform_from(random_word(draw, first + i));
        keep_below_one(dtype, length, floats);
    });
}

void fill_normal_reference(const Draw& draw, double mean, double std, void* to, DType dtype, int64_t count) {
    fill_floats(to, dtype, count, [&](int64_t first, int64_t length, float* floats) {
        for (int64_t i = 0; i < length; ++i) {
            floats[i] = static_cast<float>(mean) + static_cast<float>(std) * normal_of(draw, first + i);
        }
    });
}

void drop_elements_reference(const Draw& draw, double p, const void* x, void* out, DType dtype, int64_t count) {
    const uint64_t threshold = dropout_threshold(p);
    with_floating(dtype, "dropout", [&](auto number) {
        using Number = decltype(number);
        using Stored = typename Number::Stored;
        drop_plainly<Number>(static_cast<const Stored*>(x), static_cast<Stored*>(out), count, threshold, kept_scale(p),
                             [&](int64_t i) { return random_word(draw, i); });
    });
}

}  // namespace tenon::cpu
