#include "tenon/cpu/reductions.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tenon/base/fault.h"
#include "tenon/cpu/access.h"
#include "tenon/cpu/half.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/scratch.h"
#include "tenon/cpu/sets/sum_order.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(void reduce_rows(const ReduceRows& r); void reduce_columns(const ReduceColumns& r);
                   int64_t first_greatest(Element type, const void* elements, int64_t n);)

namespace {

// Work of a tile, in elements; a row longer than that is cut into such chunks (whole blocks of the sum's order).
constexpr int64_t kTileElements = 65536;
static_assert(kTileElements % kSumBlock == 0 && (kTileElements / kSumBlock & (kTileElements / kSumBlock - 1)) == 0);

int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

// Drops sizes of 1 and merges neighbours that lie one in another.
void merge_dims(Shape& shape, Dims& strides) {
    Shape merged;
    Dims merged_strides;
    for (int64_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 1) continue;
        const int64_t last = merged.size() - 1;
        if (last >= 0 && merged_strides[last] == strides[d] * shape[d]) {
            merged[last] *= shape[d];
            merged_strides[last] = strides[d];
        } else {
            merged.push_back(shape[d]);
            merged_strides.push_back(strides[d]);
        }
    }
    shape = merged;
    strides = merged_strides;
}

// Offset of the element at a row-major index.
int64_t offset_of(int64_t index, const Shape& shape, const Dims& strides) {
    int64_t offset = 0;
    for (int64_t d = shape.size() - 1; d >= 0; --d) {
        offset += index % shape[d] * strides[d];
        index /= shape[d];
    }
    return offset;
}

// Offsets of the elements first, first + 1, … in row-major order.
void fill_offsets(const Shape& shape, const Dims& strides, int64_t first, int64_t count, int64_t* offsets) {
    if (shape.empty()) {
        std::fill_n(offsets, count, 0);
        return;
    }
    const int64_t inner = shape.back(), step = strides.back();
    for (int64_t done = 0; done < count;) {
        const int64_t at = (first + done) % inner, run = std::min(inner - at, count - done);
        const int64_t start = offset_of(first + done, shape, strides);
        for (int64_t i = 0; i < run; ++i) offsets[done + i] = start + i * step;
        done += run;
    }
}

// `count` elements of Word from row-major index `first`, into adjacent memory.
template <class Word>
void gather(const Word* from, const Shape& shape, const Dims& strides, int64_t first, int64_t count, Word* to) {
    const int64_t inner = shape.empty() ? 1 : shape.back(), step = shape.empty() ? 0 : strides.back();
    for (int64_t done = 0; done < count;) {
        const int64_t at = (first + done) % inner, run = std::min(inner - at, count - done);
        const Word* source = from + offset_of(first + done, shape, strides);
        if (step == 1) {
            std::memcpy(to + done, source, static_cast<size_t>(run) * sizeof(Word));
        } else {
            for (int64_t i = 0; i < run; ++i) to[done + i] = source[i * step];
        }
        done += run;
    }
}

struct Source {
    const char* first;
    Element type;
    int64_t element_size;
    const ReductionPlan& plan;

    Source(const Tensor& x, const ReductionPlan& the_plan)
        : first(data<char>(x)), type(element_of(x.dtype())), element_size(size_of(x.dtype())), plan(the_plan) {}

    const char* row(int64_t output) const {
        return first + offset_of(output, plan.kept, plan.kept_strides) * element_size;
    }
    bool has_adjacent_rows() const {
        return plan.reduced.empty() || (plan.reduced.size() == 1 && plan.reduced_strides[0] == 1);
    }
    // Elements [begin, begin + count) of a row, where they are or gathered into `memory`.
    const void* part(int64_t output, int64_t begin, int64_t count, void* memory) const {
        const char* from = row(output);
        if (has_adjacent_rows()) return from + begin * element_size;
        if (element_size == 4) {
            gather(reinterpret_cast<const uint32_t*>(from), plan.reduced, plan.reduced_strides, begin, count,
                   static_cast<uint32_t*>(memory));
        } else {
            gather(reinterpret_cast<const uint16_t*>(from), plan.reduced, plan.reduced_strides, begin, count,
                   static_cast<uint16_t*>(memory));
        }
        return memory;
    }
};

// `count` parts of one result, at a distance of `step`.
float meet_parts(Reduction kind, const float* parts, int64_t count, int64_t step) {
    if (kind == Reduction::sum) {
        PartialSums<float> sums;
        if (TENON_FAULT(sum_blocks_in_line)) {
            float sum = 0;
            for (int64_t i = 0; i < count; ++i) sum += parts[i * step];
            return sum;
        }
        for (int64_t i = 0; i < count; ++i) sums.push(parts[i * step]);
        return sums.total();
    }
    std::vector<float> adjacent(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) adjacent[static_cast<size_t>(i)] = parts[i * step];
    float result = 0;
    TENON_SELECT(reduce_rows)({kind, Element::f32, adjacent.data(), count, 1, count, &result});
    return result;
}

// Rows of at most kTileElements, several to a tile.
void reduce_short_rows(Reduction kind, const Source& source, float divisor, Tensor& out) {
    const ReductionPlan& plan = source.plan;
    const int64_t group = std::clamp<int64_t>(kTileElements / std::max<int64_t>(plan.n, 16), 1, 4096);
    const bool adjacent = source.has_adjacent_rows();
    const auto kernel = TENON_SELECT(reduce_rows);
    parallel_for(divide_up(plan.outputs, group), [&](int64_t tile) {
        const int64_t first = tile * group, count = std::min(group, plan.outputs - first);
        float results[4096];
        char* memory = adjacent ? nullptr : reinterpret_cast<char*>(thread_scratch(count * plan.n));
        const int64_t inner = plan.kept.empty() ? 1 : plan.kept.back();
        for (int64_t done = 0; done < count;) {
            if (!adjacent) {
                for (; done < count; ++done) {
                    source.part(first + done, 0, plan.n, memory + done * plan.n * source.element_size);
                }
                kernel({kind, source.type, memory, plan.n, count, plan.n, results});
                break;
            }
            // As many rows as lie at one distance from each other.
            const int64_t run = std::min(inner - (first + done) % inner, count - done);
            const int64_t stride = plan.kept.empty() ? 0 : plan.kept_strides.back();
            kernel({kind, source.type, source.row(first + done), stride, run, plan.n, results + done});
            done += run;
        }
        store_floats(results, count, out, first, divisor);
    });
}

// Few long rows: chunks of them are tiles, and meet in the order in which their blocks would.
void reduce_long_rows(Reduction kind, const Source& source, float divisor, Tensor& out) {
    const ReductionPlan& plan = source.plan;
    const int64_t chunks = divide_up(plan.n, kTileElements);
    std::vector<float> parts(static_cast<size_t>(plan.outputs * chunks));
    const auto kernel = TENON_SELECT(reduce_rows);
    parallel_for(plan.outputs * chunks, [&](int64_t tile) {
        const int64_t begin = tile % chunks * kTileElements, count = std::min(kTileElements, plan.n - begin);
        float* memory = source.has_adjacent_rows() ? nullptr : thread_scratch(count);
        const void* x = source.part(tile / chunks, begin, count, memory);
        kernel({kind, source.type, x, count, 1, count, &parts[static_cast<size_t>(tile)]});
    });
    for (int64_t output = 0; output < plan.outputs; ++output) {
        const float result = meet_parts(kind, &parts[static_cast<size_t>(output * chunks)], chunks, 1);
        store_floats(&result, 1, out, output, divisor);
    }
}

// The last kept dim is adjacent: 64 columns by a block of rows are a tile.
void reduce_adjacent_columns(Reduction kind, const Source& source, float divisor, Tensor& out) {
    const ReductionPlan& plan = source.plan;
    const int64_t columns = plan.kept.back(), column_tiles = divide_up(columns, kColumnTile);
    const int64_t blocks = divide_up(plan.n, kSumBlock);
    std::vector<float> parts(blocks > 1 ? static_cast<size_t>(blocks * plan.outputs) : 0);
    const auto kernel = TENON_SELECT(reduce_columns);
    parallel_for(plan.outputs / columns * column_tiles * blocks, [&](int64_t tile) {
        const int64_t block = tile % blocks, column = tile / blocks % column_tiles * kColumnTile;
        const int64_t output = tile / blocks / column_tiles * columns + column;
        const int64_t count = std::min(kColumnTile, columns - column);
        const int64_t begin = block * kSumBlock, rows = std::min(kSumBlock, plan.n - begin);
        int64_t offsets[kSumBlock];
        fill_offsets(plan.reduced, plan.reduced_strides, begin, rows, offsets);
        float results[kColumnTile];
        float* to = blocks > 1 ? &parts[static_cast<size_t>(block * plan.outputs + output)] : results;
        kernel({kind, source.type, source.row(output), offsets, rows, count, to});
        if (blocks == 1) store_floats(results, count, out, output, divisor);
    });
    if (blocks == 1) return;
    for (int64_t output = 0; output < plan.outputs; ++output) {
        const float result = meet_parts(kind, &parts[static_cast<size_t>(output)], blocks, plan.outputs);
        store_floats(&result, 1, out, output, divisor);
    }
}

}  // namespace

bool has_vector_kernels(DType dtype) {
    return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

void store_floats(const float* values, int64_t count, Tensor& out, int64_t first, float divisor) {
    for (int64_t i = 0; i < count; ++i) {
        const float value = TENON_FAULT(mean_by_reciprocal) ? values[i] * (1 / divisor) : values[i] / divisor;
        if (out.dtype() == DType::f32) {
            data<float>(out)[first + i] = value;
        } else {
            data<uint16_t>(out)[first + i] = out.dtype() == DType::bf16 ? float_to_bf16(value) : float_to_f16(value);
        }
    }
}

Element element_of(DType dtype) {
    return dtype == DType::f32 ? Element::f32 : dtype == DType::bf16 ? Element::bf16 : Element::f16;
}

ReductionPlan reduction_plan(const Tensor& x, const Dims& dims) {
    uint64_t chosen = dims.empty() ? ~uint64_t{0} : 0;
    for (const Dim dim : dims) chosen |= uint64_t{1} << normalize_dim(dim, x.rank(), "reduction");
    ReductionPlan plan;
    for (int64_t d = 0; d < x.rank(); ++d) {
        const bool is_reduced = (chosen >> d & 1) != 0;
        (is_reduced ? plan.reduced : plan.kept).push_back(x.shape()[d]);
        (is_reduced ? plan.reduced_strides : plan.kept_strides).push_back(x.strides()[d]);
        (is_reduced ? plan.n : plan.outputs) *= x.shape()[d];
    }
    for (int64_t d = 1; TENON_FAULT(sum_in_memory_order) && d < plan.reduced.size(); ++d) {
        for (int64_t e = d; e > 0 && plan.reduced_strides[e - 1] < plan.reduced_strides[e]; --e) {
            std::swap(plan.reduced[e - 1], plan.reduced[e]);
            std::swap(plan.reduced_strides[e - 1], plan.reduced_strides[e]);
        }
    }
    merge_dims(plan.kept, plan.kept_strides);
    merge_dims(plan.reduced, plan.reduced_strides);
    return plan;
}

void reduce(Reduction kind, const Tensor& x, const ReductionPlan& plan, float divisor, Tensor& out) {
    if (plan.outputs == 0) return;
    const Source source(x, plan);
    if (plan.n == 0) {
        const std::vector<float> zeros(static_cast<size_t>(plan.outputs));
        store_floats(zeros.data(), plan.outputs, out, 0, divisor);
    } else if (!source.has_adjacent_rows() && !plan.kept.empty() && plan.kept_strides.back() == 1) {
        reduce_adjacent_columns(kind, source, divisor, out);
    } else if (plan.n > kTileElements) {
        reduce_long_rows(kind, source, divisor, out);
    } else {
        reduce_short_rows(kind, source, divisor, out);
    }
}

void first_greatest(const Tensor& x, const ReductionPlan& plan, Tensor& out) {
    if (plan.outputs == 0) return;
    const Source source(x, plan);
    const int64_t group = std::max<int64_t>(1, kTileElements / plan.n);
    const auto kernel = TENON_SELECT(first_greatest);
    parallel_for(divide_up(plan.outputs, group), [&](int64_t tile) {
        float* memory = source.has_adjacent_rows() ? nullptr : thread_scratch(plan.n);
        const int64_t end = std::min(plan.outputs, (tile + 1) * group);
        for (int64_t output = tile * group; output < end; ++output) {
            data<int64_t>(out)[output] = kernel(source.type, source.part(output, 0, plan.n, memory), plan.n);
        }
    });
}

}  // namespace tenon::cpu
