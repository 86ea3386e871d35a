#include "tenon/cpu/copy.h"

#include <algorithm>
#include <cstring>

#include "tenon/cpu/access.h"
#include "tenon/cpu/convert.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/sets/copy.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(TENON_TRANSPOSE_FUNCTIONS)

namespace {

// Bytes of a tile: about a hundred times what it costs to claim one.
constexpr int64_t tile_bytes = int64_t{128} << 10;
// Sides of a transposed panel: 64 lines of 64 elements stay in L1 and in the first-level TLB.
constexpr int64_t panel = 64;

struct Axis {
    int64_t size;
    int64_t from;  // strides in bytes
    int64_t to;
};

// The loops of one copy: axes outermost first, adjacent ones joined, ones of size 1 dropped, ordered by how far a step
// goes in the target.
struct Loops {
    int64_t rank = 0;
    Axis* axes = nullptr;

    explicit Loops(int64_t capacity) : axes(capacity <= 8 ? inline_ : new Axis[static_cast<size_t>(capacity)]) {}
    ~Loops() {
        if (axes != inline_) delete[] axes;
    }
    Loops(const Loops&) = delete;
    Loops& operator=(const Loops&) = delete;
    Axis& last() const { return axes[rank - 1]; }

private:
    Axis inline_[8];
};

void fill_loops(Loops& loops, const Shape& shape, const Strided& from, const Strided& to) {
    const int64_t from_size = size_of(from.dtype);
    const int64_t to_size = size_of(to.dtype);
    for (int64_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 1) continue;
        const Axis axis{shape[d], from.strides[d] * from_size, to.strides[d] * to_size};
        int64_t at = loops.rank++;
        while (at > 0 && loops.axes[at - 1].to < axis.to) {
            loops.axes[at] = loops.axes[at - 1];
            --at;
        }
        loops.axes[at] = axis;
    }
    int64_t kept = 0;
    for (int64_t d = 0; d < loops.rank; ++d) {
        const Axis& axis = loops.axes[d];
        if (kept > 0) {
            Axis& outer = loops.axes[kept - 1];
            if (outer.from == axis.from * axis.size && outer.to == axis.to * axis.size) {
                outer = {outer.size * axis.size, axis.from, axis.to};
                continue;
            }
        }
        loops.axes[kept++] = axis;
    }
    loops.rank = kept;
    if (kept == 0) {
        loops.rank = 1;
        loops.axes[0] = {1, from_size, to_size};
    }
}

// Runs body(from offset, to offset) for the outer axes' indices [begin, end) in order.
template <typename Body>
void walk(const Axis* axes, int64_t rank, int64_t begin, int64_t end, Body body) {
    Dims at(rank, 0);
    int64_t from = 0;
    int64_t to = 0;
    for (int64_t d = rank - 1, left = begin; d >= 0; --d) {
        at[d] = left % axes[d].size;
        left /= axes[d].size;
        from += at[d] * axes[d].from;
        to += at[d] * axes[d].to;
    }
    for (int64_t i = begin; i < end; ++i) {
        body(from, to);
        for (int64_t d = rank - 1; d >= 0; --d) {
            from += axes[d].from;
            to += axes[d].to;
            if (++at[d] < axes[d].size) break;
            from -= axes[d].size * axes[d].from;
            to -= axes[d].size * axes[d].to;
            at[d] = 0;
        }
    }
}

int64_t count_of(const Axis* axes, int64_t rank) {
    int64_t count = 1;
    for (int64_t d = 0; d < rank; ++d) count *= axes[d].size;
    return count;
}

// Cuts `count` units of `unit_bytes` into tiles by size alone.
template <typename Body>
void parallel_units(int64_t count, int64_t unit_bytes, Body body) {
    const int64_t per_tile = std::max<int64_t>(1, tile_bytes / std::max<int64_t>(unit_bytes, 1));
    if (count <= per_tile) return body(int64_t{0}, count);
    parallel_for((count + per_tile - 1) / per_tile,
                 [&](int64_t tile) { body(tile * per_tile, std::min(count, (tile + 1) * per_tile)); });
}

template <typename T>
void copy_row_of(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t count) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(T));
}

template <typename T>
void copy_row_packed(const char* from, int64_t from_stride, char* to, int64_t count) {
    T* out = reinterpret_cast<T*>(to);
    if (from_stride == 0) {
        std::fill_n(out, count, *reinterpret_cast<const T*>(from));
        return;
    }
    for (int64_t i = 0; i < count; ++i) out[i] = *reinterpret_cast<const T*>(from + i * from_stride);
}

template <typename T>
void copy_row(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t count) {
    constexpr int64_t size = sizeof(T);
    if (from_stride == size && to_stride == size) {
        std::memcpy(to, from, static_cast<size_t>(count * size));
    } else if (to_stride == size) {
        copy_row_packed<T>(from, from_stride, to, count);
    } else {
        copy_row_of<T>(from, from_stride, to, to_stride, count);
    }
}

template <typename T>
void transpose_panel(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t rows,
                     int64_t columns) {
    // Elements of one size lie at multiples of it: tensors are aligned to their dtype.
    constexpr int64_t size = sizeof(T);
    const auto* source = reinterpret_cast<const T*>(from);
    auto* target = reinterpret_cast<T*>(to);
    if constexpr (size == 4) {
        TENON_SELECT(transpose_words)(source, from_stride / size, target, to_stride / size, rows, columns);
    } else if constexpr (size == 2) {
        TENON_SELECT(transpose_halves)(source, from_stride / size, target, to_stride / size, rows, columns);
    } else {
        // Sixteen columns at a time: their lines of the source stay in L1 however far apart they lie.
        for (int64_t start = 0; start < columns; start += 16) {
            const int64_t end = std::min(columns, start + 16);
            for (int64_t r = 0; r < rows; ++r) {
                T* line = target + r * (to_stride / size);
                for (int64_t c = start; c < end; ++c) line[c] = source[c * (from_stride / size) + r];
            }
        }
    }
}

// The last axis is packed in the target, axis `across` in the source: panels of both.
template <typename T>
void copy_transposed(Loops& loops, int64_t across, const char* from, char* to) {
    const Axis columns = loops.last();
    const Axis rows = loops.axes[across];
    std::copy(loops.axes + across + 1, loops.axes + loops.rank - 1, loops.axes + across);
    const int64_t outer = loops.rank - 2;
    const int64_t down = (rows.size + panel - 1) / panel;
    const int64_t along = (columns.size + panel - 1) / panel;
    const int64_t unit_bytes = std::min(rows.size, panel) * std::min(columns.size, panel) * int64_t{sizeof(T)};
    parallel_units(count_of(loops.axes, outer) * down * along, unit_bytes, [&](int64_t begin, int64_t end) {
        for (int64_t unit = begin; unit < end; ++unit) {
            const int64_t c = unit % along * panel;
            const int64_t r = unit / along % down * panel;
            walk(loops.axes, outer, unit / along / down, unit / along / down + 1, [&](int64_t from_at, int64_t to_at) {
                transpose_panel<T>(from + from_at + c * columns.from + r * rows.from, columns.from,
                                   to + to_at + c * columns.to + r * rows.to, rows.to, std::min(panel, rows.size - r),
                                   std::min(panel, columns.size - c));
            });
        }
    });
}

// Rows along the last axis; a long row is cut too.
template <typename Row>
void copy_rows(const Loops& loops, int64_t element_bytes, const char* from, char* to, Row row) {
    const Axis& inner = loops.last();
    const int64_t length = std::min(inner.size, std::max<int64_t>(1, tile_bytes / element_bytes));
    const int64_t cuts = (inner.size + length - 1) / length;
    const int64_t outer = loops.rank - 1;
    parallel_units(count_of(loops.axes, outer) * cuts, length * element_bytes, [&](int64_t begin, int64_t end) {
        if (cuts == 1) {
            walk(loops.axes, outer, begin, end, [&](int64_t from_at, int64_t to_at) {
                row(from + from_at, inner.from, to + to_at, inner.to, inner.size);
            });
            return;
        }
        for (int64_t unit = begin; unit < end; ++unit) {
            const int64_t start = unit % cuts * length;
            walk(loops.axes, outer, unit / cuts, unit / cuts + 1, [&](int64_t from_at, int64_t to_at) {
                row(from + from_at + start * inner.from, inner.from, to + to_at + start * inner.to, inner.to,
                    std::min(length, inner.size - start));
            });
        }
    });
}

template <typename T>
void copy_sized(Loops& loops, const char* from, char* to) {
    constexpr int64_t size = sizeof(T);
    if (loops.last().to == size && loops.last().from != size) {
        for (int64_t d = loops.rank - 2; d >= 0; --d) {
            // A thin pair gains nothing from blocks.
            if (loops.axes[d].from == size && loops.axes[d].size >= 4 && loops.last().size >= 4 &&
                loops.last().from != 0) {
                return copy_transposed<T>(loops, d, from, to);
            }
        }
    }
    copy_rows(loops, size, from, to, copy_row<T>);
}

}  // namespace

Strided strided(const Tensor& tensor) {
    return {data(tensor), tensor.strides(), tensor.dtype()};
}

void copy_strided(const Shape& shape, const Strided& from, const Strided& to) {
    if (numel(shape) == 0) return;
    Loops loops(std::max<int64_t>(shape.size(), 1));
    fill_loops(loops, shape, from, to);
    const auto* source = static_cast<const char*>(from.data);
    auto* target = static_cast<char*>(to.data);
    if (from.dtype != to.dtype) {
        const int64_t from_size = size_of(from.dtype);
        const int64_t to_size = size_of(to.dtype);
        copy_rows(loops, to_size, source, target,
                  [&](const char* x, int64_t x_stride, char* y, int64_t y_stride, int64_t count) {
                      convert_row(x, from.dtype, x_stride / from_size, y, to.dtype, y_stride / to_size, count);
                  });
        return;
    }
    switch (size_of(from.dtype)) {
        case 1:
            return copy_sized<uint8_t>(loops, source, target);
        case 2:
            return copy_sized<uint16_t>(loops, source, target);
        case 4:
            return copy_sized<uint32_t>(loops, source, target);
        default:
            return copy_sized<uint64_t>(loops, source, target);
    }
}

void copy_elements(const Tensor& from, const Tensor& to) {
    const int64_t bytes = to.numel() * size_of(to.dtype());
    // Small and in order on both sides: no loops to plan.
    if (bytes > 0 && bytes <= tile_bytes && from.dtype() == to.dtype() && from.is_contiguous() && to.is_contiguous()) {
        std::memcpy(data(to), data(from), static_cast<size_t>(bytes));
        return;
    }
    copy_strided(from.shape(), strided(from), strided(to));
}

}  // namespace tenon::cpu
