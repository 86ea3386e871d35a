#include "tenon/cpu/fill.h"

#include <algorithm>
#include <cstring>

#include "tenon/cpu/convert.h"
#include "tenon/cpu/copy.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::cpu {

void fill(void* to, DType dtype, int64_t count, double value) {
    uint64_t bits = 0;
    convert_row(&value, DType::f64, 1, &bits, dtype, 1, 1);
    if (bits == 0 && count * size_of(dtype) < (int64_t{64} << 10)) {
        if (count > 0) std::memset(to, 0, static_cast<size_t>(count * size_of(dtype)));
        return;
    }
    copy_strided({count}, {&bits, {0}, dtype}, {to, {1}, dtype});
}

void fill_sequence(void* to, DType dtype, int64_t count, double start, double step) {
    constexpr int64_t length = 4096;
    parallel_for((count + length - 1) / length, [&](int64_t tile) {
        double values[256];
        const int64_t end = std::min(count, (tile + 1) * length);
        for (int64_t i = tile * length; i < end; i += 256) {
            const int64_t part = std::min<int64_t>(256, end - i);
            for (int64_t j = 0; j < part; ++j) values[j] = start + static_cast<double>(i + j) * step;
            convert_row(values, DType::f64, 1, static_cast<char*>(to) + i * size_of(dtype), dtype, 1, part);
        }
    });
}

}  // namespace tenon::cpu
