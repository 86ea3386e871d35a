// A tensor of any layout as rows along one dim: what kernels over rows walk.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/core/tensor.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::cpu {

// Row r is the r-th, in row-major order, over the other dims.
class Rows {
public:
    // Rows along `dim` (a scalar is one row of one element). The tensor stays alive elsewhere.
    explicit Rows(const Tensor& x, int64_t dim = -1);

    int64_t count() const { return count_; }
    int64_t length() const { return length_; }
    // Whether the elements of a row lie side by side.
    bool adjacent() const { return step_ == 1; }
    // How many rows from `row` on lie at row_stride() of each other.
    int64_t run(int64_t row) const { return shape_.empty() ? count_ - row : shape_.back() - row % shape_.back(); }
    int64_t row_stride() const { return shape_.empty() ? 0 : strides_.back(); }  // in elements
    // The same over all rows.
    bool regular() const { return adjacent() && shape_.size() <= 1; }

    void* row(int64_t row) const;
    // Copies a row to adjacent memory, and back.
    void gather(int64_t row, void* to) const;
    void scatter(const void* from, int64_t row) const;
    int64_t row_bytes() const { return length_ * element_size_; }

private:
    char* first_;
    int64_t element_size_, count_ = 1, length_ = 1, step_ = 1;
    Shape shape_;  // of the other dims, neighbours in memory merged
    Dims strides_;
};

// body(first, count) for groups of rows, on all threads. Groups are cut by shape alone.
template <class Body>
void over_row_groups(int64_t rows, int64_t length, Body&& body) {
    constexpr int64_t kElements = 16384;
    const int64_t group = std::max<int64_t>(4, kElements / std::max<int64_t>(length, 1) & ~int64_t{3});
    parallel_for((rows + group - 1) / group,
                 [&](int64_t tile) { body(tile * group, std::min(group, rows - tile * group)); });
}

// One tensor's rows for a kernel: where they are, or copies in `memory`.
struct RowRun {
    void* first;
    int64_t stride;  // in elements
};
inline RowRun read_run(const Rows& rows, int64_t row, char* memory) {
    if (rows.adjacent()) return {rows.row(row), rows.row_stride()};
    rows.gather(row, memory);
    return {memory, rows.length()};
}
// How many rows a kernel may take at once from `row` on.
inline int64_t usable_run(const Rows& rows, int64_t row) {
    return rows.adjacent() ? rows.run(row) : 1;
}

}  // namespace tenon::cpu
