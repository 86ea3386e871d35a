#include "tenon/cpu/elementwise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/cpu/access.h"
#include "tenon/cpu/convert.h"
#include "tenon/cpu/copy.h"
#include "tenon/cpu/f64_math.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/sets/tile_conversions.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(TENON_TILE_CONVERSIONS)

namespace {

constexpr int64_t tile_elements = 1024;
// A task is this many tiles; below one task nothing is worth a second thread.
constexpr int64_t tiles_per_task = 16;
// Rows at least this long are cut into tiles of their own, so that an operand with a unit inner stride is read in
// place.
constexpr int64_t long_row = 256;
constexpr int max_rank = 16;

DType dtype_of(Compute compute) {
    return compute == Compute::f32 ? DType::f32 : (compute == Compute::f64 ? DType::f64 : DType::i64);
}

int64_t size_in(Compute compute) {
    return compute == Compute::f32 ? 4 : 8;
}

// A number as the compute type holds it.
union Value {
    float f32;
    double f64;
    int64_t i64;
};

Value value_of(double number, Compute compute) {
    Value value{};
    if (compute == Compute::f32) value.f32 = static_cast<float>(number);
    if (compute == Compute::f64) value.f64 = number;
    if (compute == Compute::i64) {
        // An infinite bound of an integer clamp is the integer furthest out.
        const bool fits = number >= -0x1p63 && number < 0x1p63;
        value.i64 = fits ? static_cast<int64_t>(number)
                         : (number > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min());
    }
    return value;
}

template <class T>
void gather_same(const void* from, int64_t stride, void* to, int64_t count) {
    const T* source = static_cast<const T*>(from);
    T* target = static_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
}

// `count` elements, `stride` apart, into a contiguous tile of the compute type.
void gather_run(const void* from, DType dtype, int64_t stride, void* to, Compute compute, int64_t count) {
    if (dtype == dtype_of(compute)) {
        if (stride == 1) {
            std::memcpy(to, from, static_cast<size_t>(count * size_in(compute)));
        } else if (compute == Compute::f32) {
            gather_same<uint32_t>(from, stride, to, count);
        } else {
            gather_same<uint64_t>(from, stride, to, count);
        }
    } else if (compute == Compute::f32 && stride == 1 && dtype == DType::bf16) {
        TENON_SELECT(widen_bf16)(static_cast<const uint16_t*>(from), static_cast<float*>(to), count);
    } else if (compute == Compute::f32 && stride == 1 && dtype == DType::f16) {
        TENON_SELECT(widen_f16)(static_cast<const uint16_t*>(from), static_cast<float*>(to), count);
    } else {
        convert_row(from, dtype, stride, to, dtype_of(compute), 1, count);
    }
}

void store_run(const void* from, Compute compute, void* to, DType dtype, int64_t count) {
    if (compute == Compute::f32 && dtype == DType::bf16) {
        TENON_SELECT(narrow_bf16)(static_cast<const float*>(from), static_cast<uint16_t*>(to), count);
    } else if (compute == Compute::f32 && dtype == DType::f16) {
        TENON_SELECT(narrow_f16)(static_cast<const float*>(from), static_cast<uint16_t*>(to), count);
    } else {
        convert_row(from, dtype_of(compute), 1, to, dtype, 1, count);
    }
}

void fill_tile(void* tile, Compute compute, int64_t count) {
    if (compute == Compute::f32) {
        float* values = static_cast<float*>(tile);
        std::fill(values + 1, values + count, values[0]);
    } else {
        int64_t* values = static_cast<int64_t*>(tile);  // eight bytes, whatever they mean
        std::fill(values + 1, values + count, values[0]);
    }
}

enum class Layout {
    dense,   // contiguous in the order of the output
    scalar,  // one element
    strided
};

struct Operand {
    const char* data = nullptr;
    DType dtype = DType::f32;
    int64_t size = 4;       // bytes of an element
    bool in_place = false;  // the kernel may read its memory: the dtype is the compute type's
    Layout layout = Layout::dense;
    std::array<int64_t, max_rank> strides;  // in elements, by collapsed dim; set up to the rank
};

// The iteration space with neighbouring dims merged where every operand allows it.
struct Space {
    int rank = 0;
    int64_t elements = 1;
    std::array<int64_t, max_rank> sizes;
    std::array<Operand, max_operands> operands;
    int count = 0;

    int64_t inner() const { return rank == 0 ? 1 : sizes[static_cast<size_t>(rank - 1)]; }
    int64_t offset_of_row(const Operand& operand, int64_t row) const {
        int64_t offset = 0;
        for (int d = rank - 2; d >= 0; --d) {
            const auto at = static_cast<size_t>(d);
            offset += row % sizes[at] * operand.strides[at];
            row /= sizes[at];
        }
        return offset;
    }
};

void add_dim(Space& space, int64_t size, const std::array<int64_t, max_operands>& strides) {
    if (size == 1) return;
    bool merges = space.rank > 0;
    const auto last = static_cast<size_t>(std::max(space.rank - 1, 0));
    for (int i = 0; merges && i < space.count; ++i) {
        const auto at = static_cast<size_t>(i);
        merges = space.operands[at].strides[last] == strides[at] * size;
    }
    if (!merges && space.rank == max_rank) {
        throw Error(Code::usage, "elementwise",
                    "operands have more than 16 dims that cannot be merged; make them contiguous first");
    }
    const auto to = merges ? last : static_cast<size_t>(space.rank);
    space.sizes[to] = merges ? space.sizes[to] * size : size;
    if (!merges) ++space.rank;
    for (int i = 0; i < space.count; ++i)
        space.operands[static_cast<size_t>(i)].strides[to] = strides[static_cast<size_t>(i)];
}

Layout layout_of(const Space& space, const Operand& operand) {
    bool scalar = true, dense = true;
    int64_t expected = 1;
    for (int d = space.rank - 1; d >= 0; --d) {
        const auto at = static_cast<size_t>(d);
        scalar = scalar && operand.strides[at] == 0;
        dense = dense && operand.strides[at] == expected;
        expected *= space.sizes[at];
    }
    return scalar ? Layout::scalar : (dense ? Layout::dense : Layout::strided);
}

Space make_space(std::span<const Tensor> inputs, const Tensor& out, Compute compute) {
    Space space;
    space.count = static_cast<int>(inputs.size());
    if (inputs.size() > max_operands) throw Error(Code::failed, "elementwise", "more than 8 operands");
    for (size_t i = 0; i < inputs.size(); ++i) {
        Operand& operand = space.operands[i];
        operand.data = data<const char>(inputs[i]);
        operand.dtype = inputs[i].dtype();
        operand.size = size_of(operand.dtype);
        operand.in_place = operand.dtype == dtype_of(compute);
    }
    const Shape& shape = out.shape();
    for (int64_t d = 0; d < shape.size(); ++d) {
        space.elements *= shape[d];
        std::array<int64_t, max_operands> strides{};
        for (size_t i = 0; i < inputs.size(); ++i) {
            const int64_t own = d - (shape.size() - inputs[i].rank());
            if (own >= 0 && inputs[i].shape()[own] != 1) strides[i] = inputs[i].strides()[own];
        }
        add_dim(space, shape[d], strides);
    }
    for (int i = 0; i < space.count; ++i) {
        Operand& operand = space.operands[static_cast<size_t>(i)];
        operand.layout = layout_of(space, operand);
    }
    return space;
}

// One tile: `count` outputs from linear index `begin`; where rows are cut alone, all of them in one row.
struct Tile {
    int64_t begin = 0;
    int64_t count = 0;
};

class Work {
public:
    Work(const Space& space, TileKernel kernel, Compute compute, std::span<const double> attributes, bool writes_mask,
         const Tensor& out)
        : space_(space),
          kernel_(kernel),
          compute_(compute),
          out_(data<char>(out)),
          out_dtype_(out.dtype()),
          out_size_(size_of(out_dtype_)),
          direct_(writes_mask || out_dtype_ == dtype_of(compute)) {
        if (writes_mask && out_dtype_ != DType::boolean)
            throw Error(Code::failed, "elementwise", "a mask needs a bool output");
        for (size_t i = 0; i < attributes.size(); ++i) attributes_[i] = value_of(attributes[i], compute);
        attribute_count_ = static_cast<int>(attributes.size());
        bool strided = false;
        for (int i = 0; i < space.count; ++i)
            strided |= space.operands[static_cast<size_t>(i)].layout == Layout::strided;
        by_rows_ = strided && space.inner() >= long_row;
        tiles_per_row_ = by_rows_ ? (space.inner() + tile_elements - 1) / tile_elements : 1;
        tiles_ = by_rows_ ? space.elements / space.inner() * tiles_per_row_
                          : (space.elements + tile_elements - 1) / tile_elements;
    }

    void run() const {
        const int64_t tasks = (tiles_ + tiles_per_task - 1) / tiles_per_task;
        if (tasks <= 1) {
            run_task(0);
        } else {
            parallel_for(tasks, [this](int64_t task) { run_task(task); });
        }
    }

private:
    Tile tile(int64_t index) const {
        if (!by_rows_) return {index * tile_elements, std::min(tile_elements, space_.elements - index * tile_elements)};
        const int64_t row = index / tiles_per_row_, start = index % tiles_per_row_ * tile_elements;
        return {row * space_.inner() + start, std::min(tile_elements, space_.inner() - start)};
    }

    void run_task(int64_t task) const {
        // Not initialised: a tile is written before it is read.
        alignas(64) char tiles[max_operands + 1][tile_elements * 8];
        const void* in[max_operands + ops_reals];
        for (int i = 0; i < attribute_count_; ++i) in[space_.count + i] = &attributes_[static_cast<size_t>(i)];
        for (int i = 0; i < space_.count; ++i) {
            const Operand& operand = space_.operands[static_cast<size_t>(i)];
            if (operand.layout != Layout::scalar) continue;
            gather_run(operand.data, operand.dtype, 1, tiles[i], compute_, 1);
            fill_tile(tiles[i], compute_, std::min(tile_elements, space_.elements));
            in[i] = tiles[i];
        }
        const int64_t last = std::min(tiles_, (task + 1) * tiles_per_task);
        for (int64_t index = task * tiles_per_task; index < last; ++index) {
            const Tile t = tile(index);
            for (int i = 0; i < space_.count; ++i) {
                const Operand& operand = space_.operands[static_cast<size_t>(i)];
                if (operand.layout != Layout::scalar) in[i] = read(operand, t, tiles[i]);
            }
            char* to = out_ + t.begin * out_size_;
            kernel_(in, direct_ ? to : tiles[max_operands], t.count);
            if (!direct_) store_run(tiles[max_operands], compute_, to, out_dtype_, t.count);
        }
    }

    // The operand's elements of a tile: where they lie, or gathered into `buffer`.
    const void* read(const Operand& operand, const Tile& t, char* buffer) const {
        if (operand.layout == Layout::dense) {
            const char* from = operand.data + t.begin * operand.size;
            if (operand.in_place) return from;
            gather_run(from, operand.dtype, 1, buffer, compute_, t.count);
            return buffer;
        }
        const int64_t inner = space_.inner(), stride = operand.strides[static_cast<size_t>(space_.rank - 1)];
        int64_t row = t.begin / inner, column = t.begin % inner;
        if (by_rows_ && stride == 1 && operand.in_place) {
            return operand.data + (space_.offset_of_row(operand, row) + column) * operand.size;
        }
        char* to = buffer;
        for (int64_t left = t.count; left > 0; ++row, column = 0) {
            const int64_t count = std::min(left, inner - column);
            const char* from = operand.data + (space_.offset_of_row(operand, row) + column * stride) * operand.size;
            if (stride == 0) {
                gather_run(from, operand.dtype, 1, to, compute_, 1);
                fill_tile(to, compute_, count);
            } else {
                gather_run(from, operand.dtype, stride, to, compute_, count);
            }
            to += count * size_in(compute_);
            left -= count;
        }
        return buffer;
    }

    static constexpr int ops_reals = 6;
    const Space& space_;
    TileKernel kernel_;
    Compute compute_;
    char* out_;
    DType out_dtype_;
    int64_t out_size_;
    bool direct_;
    bool by_rows_ = false;
    int64_t tiles_per_row_ = 1;
    int64_t tiles_ = 0;
    std::array<Value, ops_reals> attributes_{};
    int attribute_count_ = 0;
};

// Small and all alike: one call of the kernel, none of the bookkeeping.
bool run_at_once(TileKernel kernel, Compute compute, std::span<const Tensor> inputs, std::span<const double> attributes,
                 bool writes_mask, const Tensor& out) {
    const int64_t elements = out.numel();
    if (elements > tile_elements * tiles_per_task || !attributes.empty() || inputs.size() > max_operands) return false;
    const DType dtype = dtype_of(compute);
    if (writes_mask ? out.dtype() != DType::boolean : out.dtype() != dtype) return false;
    const void* in[max_operands];
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].dtype() != dtype || inputs[i].shape() != out.shape() || !inputs[i].is_contiguous()) return false;
        in[i] = data<const char>(inputs[i]);
    }
    kernel(in, data(out), elements);
    return true;
}

// An operand whose neighbours lie far apart: gathering it tile by tile would fetch each cache line once per row. The
// blocked copy of copy.h fetches it once.
bool wants_copy(const Space& space, const Operand& operand) {
    if (operand.layout != Layout::strided || space.elements < tile_elements * tiles_per_task) return false;
    const int64_t stride = operand.strides[static_cast<size_t>(space.rank - 1)];
    return stride * operand.size > 64;
}

template <class T>
void copy_tile(const void* const* in, void* out, int64_t n) {
    std::memcpy(out, in[0], static_cast<size_t>(n) * sizeof(T));
}

template <class T, class Evaluate>
void reference(std::span<const Tensor> inputs, Compute compute, const Tensor& out, Evaluate evaluate) {
    const Shape& shape = out.shape();
    const int64_t elements = out.numel(), size = size_of(out.dtype());
    for (int64_t element = 0; element < elements; ++element) {
        T values[max_operands];
        for (size_t i = 0; i < inputs.size(); ++i) {
            int64_t rest = element, offset = 0;
            for (int64_t d = shape.size() - 1; d >= 0; --d) {
                const int64_t own = d - (shape.size() - inputs[i].rank());
                if (own >= 0 && inputs[i].shape()[own] != 1) offset += rest % shape[d] * inputs[i].strides()[own];
                rest /= shape[d];
            }
            const char* from = data<const char>(inputs[i]) + offset * size_of(inputs[i].dtype());
            convert_row(from, inputs[i].dtype(), 1, &values[i], dtype_of(compute), 1, 1);
        }
        const T result = evaluate(values);
        convert_row(&result, dtype_of(compute), 1, data<char>(out) + element * size, out.dtype(), 1, 1);
    }
}

}  // namespace

Compute compute_type(DType dtype) {
    if (dtype == DType::f64) return Compute::f64;
    return is_floating(dtype) ? Compute::f32 : Compute::i64;
}

void elementwise(TileKernel kernel, Compute compute, std::span<const Tensor> inputs, std::span<const double> attributes,
                 bool writes_mask, const Tensor& out) {
    if (run_at_once(kernel, compute, inputs, attributes, writes_mask, out)) return;
    Space space = make_space(inputs, out, compute);
    if (space.elements == 0) return;
    std::vector<Tensor> copies;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!wants_copy(space, space.operands[i])) continue;
        if (copies.empty()) copies.assign(inputs.begin(), inputs.end());
        copies[i] = Tensor(inputs[i].shape(), inputs[i].dtype(), Device::cpu);
        copy_elements(inputs[i], copies[i]);
    }
    if (!copies.empty()) space = make_space(copies, out, compute);
    Work(space, kernel, compute, attributes, writes_mask, out).run();
}

void elementwise_reference(const scalar::Evaluator& evaluator, Compute compute, std::span<const Tensor> inputs,
                           std::span<const double> attributes, const Tensor& out) {
    float f32[6];
    double f64[6];
    int64_t i64[6];
    for (size_t i = 0; i < attributes.size(); ++i) {
        f32[i] = value_of(attributes[i], Compute::f32).f32;
        f64[i] = attributes[i];
        i64[i] = value_of(attributes[i], Compute::i64).i64;
    }
    if (compute == Compute::f32) {
        reference<float>(inputs, compute, out, [&](const float* values) { return evaluator.f32(values, f32); });
    } else if (compute == Compute::f64) {
        reference<double>(inputs, compute, out,
                          [&](const double* values) { return evaluator.f64(values, f64, f64_functions()); });
    } else {
        reference<int64_t>(inputs, compute, out, [&](const int64_t* values) { return evaluator.i64(values, i64); });
    }
}

void cast_elements(const Tensor& x, const Tensor& out) {
    if (x.dtype() == out.dtype()) return copy_elements(x, out);
    const Compute compute = compute_type(x.dtype());
    elementwise(compute == Compute::f32 ? copy_tile<float> : copy_tile<int64_t>, compute, {&x, 1}, {}, false, out);
}

}  // namespace tenon::cpu
