#include "tenon/cpu/sets/copy.h"

#include "tenon/cpu/sets/vector.h"

namespace tenon::cpu::TENON_CPU_SET {

TENON_TRANSPOSE_WORDS

// Blocks of 16 by 16 in registers: each line of memory is read and written whole. Loads and shuffles keep any bits.
void transpose_words(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride, int64_t rows,
                     int64_t columns) {
    for (int64_t r = 0; r < rows; r += kLanes) {
        const int height = static_cast<int>(rows - r < kLanes ? rows - r : kLanes);
        for (int64_t c = 0; c < columns; c += kLanes) {
            const int width = static_cast<int>(columns - c < kLanes ? columns - c : kLanes);
            Vec block[kLanes];
            for (int i = 0; i < kLanes; ++i) {
                const auto* line = reinterpret_cast<const int32_t*>(from + (c + i) * from_stride + r);
                block[i] = i >= width         ? zero()
                           : height == kLanes ? as_float(load_int(line))
                                              : as_float(load_int_partial(line, height));
            }
            transpose(block);
            for (int i = 0; i < height; ++i) {
                auto* line = reinterpret_cast<int32_t*>(to + (r + i) * to_stride + c);
                if (width == kLanes) {
                    store_int(line, as_int(block[i]));
                } else {
                    store_int_partial(line, as_int(block[i]), width);
                }
            }
        }
    }
}

}  // namespace tenon::cpu::TENON_CPU_SET
