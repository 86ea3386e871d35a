#include "tenon/cpu/index.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/cpu/access.h"
#include "tenon/cpu/copy.h"
#include "tenon/cpu/numbers.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/positions.h"

namespace tenon::cpu {

namespace {

// Elements of a tile: some ten microseconds of work.
constexpr int64_t tile_elements = int64_t{16} << 10;

// body(begin, end) over rows of `row_elements`, cut by shape alone.
template <typename Body>
void parallel_rows(int64_t rows, int64_t row_elements, Body body) {
    const int64_t per_tile = std::max<int64_t>(1, tile_elements / std::max<int64_t>(row_elements, 1));
    if (rows <= per_tile) return body(int64_t{0}, rows);
    parallel_for((rows + per_tile - 1) / per_tile,
                 [&](int64_t tile) { body(tile * per_tile, std::min(rows, (tile + 1) * per_tile)); });
}

std::string position_of(int64_t i, const Shape& shape) {
    Dims at(shape.size(), 0);
    for (int64_t d = shape.size() - 1; d >= 0; --d) {
        at[d] = i % shape[d];
        i /= shape[d];
    }
    return to_string(at);
}

// For each destination where its sources stand, ascending: a counting sort.
class Positions {
public:
    Positions(const IndexList& indices, int64_t destinations)
        : memory_({ops::positions_bytes(indices.count(), destinations)}, DType::u8, Device::cpu),
          starts_(cpu::data<int64_t>(memory_)),
          positions_(starts_ + destinations + 1) {
        std::fill_n(starts_, destinations + 1, 0);
        for (int64_t i = 0; i < indices.count(); ++i) ++starts_[indices[i]];
        int64_t end = 0;
        for (int64_t d = 0; d <= destinations; ++d) {
            end += starts_[d];
            starts_[d] = end;
        }
        // From the last source to the first: each start moves down to where its destination's sources begin.
        for (int64_t i = indices.count() - 1; i >= 0; --i) positions_[--starts_[indices[i]]] = i;
    }

    const int64_t* begin(int64_t destination) const { return positions_ + starts_[destination]; }
    const int64_t* end(int64_t destination) const { return positions_ + starts_[destination + 1]; }

private:
    Tensor memory_;
    int64_t* starts_;
    int64_t* positions_;
};

// The lines of `shape` along `dim`, and where each starts in a tensor of other sizes but the same rank.
struct Lines {
    Lines(const Shape& index_shape, const Shape& other_shape, int64_t along) : shape(index_shape) {
        if (shape.empty()) return;
        length = shape[along];
        shape[along] = 1;
        index_strides = contiguous_strides(index_shape);
        other_strides = contiguous_strides(other_shape);
        index_step = index_strides[along];
        other_step = other_strides[along];
    }

    struct Start {
        int64_t index = 0;
        int64_t other = 0;
    };
    Start start(int64_t line) const {
        Start at;
        for (int64_t d = shape.size() - 1; d >= 0; --d) {
            at.index += line % shape[d] * index_strides[d];
            at.other += line % shape[d] * other_strides[d];
            line /= shape[d];
        }
        return at;
    }
    int64_t count() const { return numel(shape); }

    Shape shape;
    Dims index_strides;
    Dims other_strides;
    int64_t length = 1;
    int64_t index_step = 1;
    int64_t other_step = 1;
};

template <typename Number>
void add_row(const Positions& positions, int64_t destination, const typename Number::Stored* initial,
             const typename Number::Stored* values, int64_t inner, typename Number::Stored* out) {
    constexpr int64_t width = 256;
    typename Number::Working sums[width];
    for (int64_t start = 0; start < inner; start += width) {
        const int64_t length = std::min(width, inner - start);
        for (int64_t j = 0; j < length; ++j) {
            sums[j] = initial == nullptr ? typename Number::Working{0} : Number::load(initial[start + j]);
        }
        for (const int64_t* at = positions.begin(destination); at != positions.end(destination); ++at) {
            const int64_t source =
                TENON_FAULT(scatter_descends) ? positions.begin(destination)[positions.end(destination) - at - 1] : *at;
            const auto* row = values + source * inner + start;
            for (int64_t j = 0; j < length; ++j) sums[j] += Number::load(row[j]);
        }
        for (int64_t j = 0; j < length; ++j) out[start + j] = Number::store(sums[j]);
    }
}

template <typename Number>
void add_line(const Lines& lines, int64_t line, const IndexList& index, const typename Number::Stored* values,
              typename Number::Stored* out, int64_t size, std::vector<typename Number::Working>& sums) {
    const Lines::Start at = lines.start(line);
    sums.resize(static_cast<size_t>(size));
    auto* target = out + at.other;
    for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] = Number::load(target[i * lines.other_step]);
    for (int64_t k = 0; k < lines.length; ++k) {
        const int64_t from = at.index + k * lines.index_step;
        sums[static_cast<size_t>(index[from])] += Number::load(values[from]);
    }
    for (int64_t i = 0; i < size; ++i) target[i * lines.other_step] = Number::store(sums[static_cast<size_t>(i)]);
}

}  // namespace

Tensor in_order(const Tensor& tensor) {
    if (tensor.is_contiguous()) return tensor;
    Tensor copy(tensor.shape(), tensor.dtype(), Device::cpu);
    copy_elements(tensor, copy);
    return copy;
}

IndexList::IndexList(const Tensor& indices, int64_t size, std::string_view op, const std::string& allowed)
    : count_(indices.numel()) {
    if (indices.dtype() == DType::i64) {
        values_ = in_order(indices);
    } else {
        values_ = Tensor(indices.shape(), DType::i64, Device::cpu);
        copy_elements(indices, values_);
    }
    data_ = cpu::data<int64_t>(values_);
    for (int64_t i = 0; i < count_; ++i) {
        if (data_[i] >= 0 && data_[i] < size) continue;
        throw Error(Code::usage, op,
                    "index " + std::to_string(data_[i]) + " at position " + position_of(i, indices.shape()) + "; " +
                        allowed + (size > 0 ? " 0 to " + std::to_string(size - 1) : " none"));
    }
}

void select_slices(const Tensor& x, const IndexList& indices, int64_t outer, int64_t inner, const Tensor& out) {
    const int64_t bytes = inner * size_of(x.dtype());
    const int64_t count = indices.count();
    if (out.numel() == 0) return;
    const int64_t slice = x.numel() / outer * size_of(x.dtype());
    const char* from = data<char>(x);
    char* to = data<char>(out);
    parallel_rows(outer * count, inner, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            std::memcpy(to + row * bytes, from + row / count * slice + indices[row % count] * bytes,
                        static_cast<size_t>(bytes));
        }
    });
}

void add_slices(const Tensor& initial, const IndexList& indices, const Tensor& values, int64_t outer, int64_t inner,
                const Tensor& out) {
    if (out.numel() == 0) return;
    const int64_t size = out.numel() / outer / inner;
    const Positions positions(indices, size);
    with_number(out.dtype(), "index_add", [&](auto number) {
        using Number = decltype(number);
        using Stored = typename Number::Stored;
        const auto* start = initial.defined() ? data<const Stored>(initial) : nullptr;
        const auto* from = data<const Stored>(values);
        auto* to = data<Stored>(out);
        parallel_rows(outer * size, inner, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                add_row<Number>(positions, row % size, start == nullptr ? nullptr : start + row * inner,
                                from + row / size * indices.count() * inner, inner, to + row * inner);
            }
        });
    });
}

void gather_lines(const Tensor& x, const IndexList& index, int64_t dim, const Tensor& out) {
    if (out.numel() == 0) return;
    const Lines lines(out.shape(), x.shape(), dim);
    with_bits(x.dtype(), [&](auto bits) {
        using Stored = decltype(bits);
        const auto* from = data<const Stored>(x);
        auto* to = data<Stored>(out);
        parallel_rows(lines.count(), lines.length, [&](int64_t begin, int64_t end) {
            for (int64_t line = begin; line < end; ++line) {
                const Lines::Start at = lines.start(line);
                for (int64_t k = 0; k < lines.length; ++k) {
                    const int64_t i = at.index + k * lines.index_step;
                    to[i] = from[at.other + index[i] * lines.other_step];
                }
            }
        });
    });
}

void scatter_add_lines(const IndexList& index, const Tensor& values, int64_t dim, const Tensor& out) {
    if (values.numel() == 0) return;
    const Lines lines(values.shape(), out.shape(), dim);
    const int64_t size = out.rank() == 0 ? 1 : out.shape()[dim];
    with_number(out.dtype(), "scatter_add", [&](auto number) {
        using Number = decltype(number);
        using Stored = typename Number::Stored;
        const auto* from = data<const Stored>(values);
        auto* to = data<Stored>(out);
        parallel_rows(lines.count(), lines.length + size, [&](int64_t begin, int64_t end) {
            std::vector<typename Number::Working> sums;
            for (int64_t line = begin; line < end; ++line) add_line<Number>(lines, line, index, from, to, size, sums);
        });
    });
}

void one_hot(const IndexList& indices, int64_t classes, int64_t* out) {
    parallel_rows(indices.count(), classes, [&](int64_t begin, int64_t end) {
        if (begin == end) return;
        std::memset(out + begin * classes, 0, static_cast<size_t>((end - begin) * classes) * sizeof(int64_t));
        for (int64_t i = begin; i < end; ++i) out[i * classes + indices[i]] = 1;
    });
}

void clear_outside(const Tensor& x, Triangle kept, int64_t diagonal) {
    if (x.numel() == 0) return;
    const int64_t rows = x.shape()[x.rank() - 2];
    const int64_t columns = x.shape().back();
    const int64_t size = size_of(x.dtype());
    char* base = data<char>(x);
    // Beyond these every element is on one side; their sum with a row's number cannot overflow.
    diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
    parallel_rows(x.numel() / columns, columns, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            // The first column past the triangle (lower) or of it (upper).
            const int64_t edge =
                std::clamp<int64_t>(row % rows + diagonal + (kept == Triangle::lower ? 1 : 0), 0, columns);
            char* line = base + row * columns * size;
            if (kept == Triangle::lower) {
                std::memset(line + edge * size, 0, static_cast<size_t>((columns - edge) * size));
            } else {
                std::memset(line, 0, static_cast<size_t>(edge * size));
            }
        }
    });
}

}  // namespace tenon::cpu
