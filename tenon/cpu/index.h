// Gathers and scatter sums by index. A destination is owned by one tile and adds its sources in ascending order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/core/tensor.h"

namespace tenon::cpu {

// The tensor itself where its elements lie in order, else a copy in which they do.
Tensor in_order(const Tensor& tensor);

// Indices as i64 in order; each has been found to lie in [0, size).
class IndexList {
public:
    // Throws Error(usage, op) for the first index outside: "index 5 at position [3]; <allowed> 0 to 4".
    IndexList(const Tensor& indices, int64_t size, std::string_view op, const std::string& allowed);

    const int64_t* data() const { return data_; }
    int64_t count() const { return count_; }
    int64_t operator[](int64_t i) const { return data_[i]; }

private:
    Tensor values_;
    const int64_t* data_ = nullptr;
    int64_t count_ = 0;
};

// out[o][i] = x[o][indices[i]], rows of `inner` elements.   x: [outer, size, inner]   out: [outer, count, inner]
void select_slices(const Tensor& x, const IndexList& indices, int64_t outer, int64_t inner, const Tensor& out);

// out[o][d] = initial[o][d] + values[o][i] for each i with indices[i] = d, i ascending; from +0 where `initial` is
// undefined.   values: [outer, count, inner]   out, initial: [outer, size, inner]
// The list of positions takes ops::positions_bytes from the allocator.
void add_slices(const Tensor& initial, const IndexList& indices, const Tensor& values, int64_t outer, int64_t inner,
                const Tensor& out);

// Lines along `dim`: out[.., k, ..] = x[.., index[.., k, ..], ..].   out, index: one shape; all three in order.
void gather_lines(const Tensor& x, const IndexList& index, int64_t dim, const Tensor& out);
// out (a copy of x by now)[.., index[.., k, ..], ..] += values[.., k, ..], k ascending.
void scatter_add_lines(const IndexList& index, const Tensor& values, int64_t dim, const Tensor& out);

// out: [count, classes] of zeros and ones.
void one_hot(const IndexList& indices, int64_t classes, int64_t* out);

// Zeroes column - row > diagonal (lower) or < diagonal (upper) of each matrix; x is in order.
enum class Triangle { lower, upper };
void clear_outside(const Tensor& x, Triangle kept, int64_t diagonal);

}  // namespace tenon::cpu
