// Kernels of ops/rotary.cpp.
#include <cmath>

#include "tenon/base/fault.h"
#include "tenon/cpu/access.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/reductions.h"
#include "tenon/cpu/reference_values.h"
#include "tenon/cpu/rows.h"
#include "tenon/cpu/scratch.h"
#include "tenon/cpu/sets/rotary.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"
#include "tenon/scalar/host.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(void rotate_rows(const RotaryRows& p); void rotary_tables(const RotaryTables& p);)

namespace {

using ops::Call;
using ops::Reason;
using ops::Tier;

Reason takes_floats(const Call& call) {
    return has_vector_kernels(call.input(0).dtype()) ? Reason::ok : Reason::dtype;
}

// A table seen with x's leading dims, in f32 with adjacent rows.
Tensor table_for(const Tensor& table, const Tensor& x) {
    Tensor floats = table;
    if (table.dtype() != DType::f32 || table.strides().back() != 1) {
        floats = Tensor(table.shape(), DType::f32, Device::cpu);
        copy_elements(table, floats);
    }
    Shape shape = x.shape();
    shape[shape.size() - 1] = table.shape().back();
    Dims strides(shape.size(), 0);
    const int64_t extra = shape.size() - table.rank();
    for (int64_t d = 0; d < table.rank(); ++d) {
        if (table.shape()[d] != 1) strides[d + extra] = floats.strides()[d];
    }
    strides[shape.size() - 1] = 1;
    return Tensor(floats, shape, strides, 0);
}

void rope_lanes(const Call& call, std::span<Tensor> outputs) {
    const Tensor& x = call.input(0);
    const Tensor cos_table = table_for(call.input(1), x), sin_table = table_for(call.input(2), x);
    const Rows rows(x), cosines(cos_table), sines(sin_table);
    const int64_t n = rows.length();
    const auto kernel = TENON_SELECT(rotate_rows);
    over_row_groups(rows.count(), n, [&](int64_t first, int64_t count) {
        char* memory = rows.adjacent() ? nullptr : reinterpret_cast<char*>(thread_scratch(n));
        for (int64_t row = first; row < first + count;) {
            const int64_t run =
                std::min({usable_run(rows, row), cosines.run(row), sines.run(row), first + count - row});
            const RowRun from = read_run(rows, row, memory);
            kernel({element_of(x.dtype()), from.first, static_cast<const float*>(cosines.row(row)),
                    static_cast<const float*>(sines.row(row)), data<char>(outputs[0]) + row * rows.row_bytes(),
                    from.stride, cosines.row_stride(), sines.row_stride(), n, run, n / 2, call.boolean(0)});
            row += run;
        }
    });
}

void rope_reference(const Call& call, std::span<Tensor> outputs) {
    with_real(outputs[0].dtype(), [&](auto zero) {
        using Real = decltype(zero);
        const Tensor& x = call.input(0);
        const std::vector<Real> values = reference_values<Real>(x);
        const auto table = [&](int input) {
            // Broadcast to x's leading dims by strides of 0.
            const Tensor& t = call.input(input);
            Shape shape = x.shape();
            shape[shape.size() - 1] = t.shape().back();
            Dims strides(shape.size(), 0);
            for (int64_t d = 0; d < t.rank(); ++d) {
                if (t.shape()[d] != 1 || d == t.rank() - 1) strides[d + shape.size() - t.rank()] = t.strides()[d];
            }
            return reference_values<Real>(Tensor(t, shape, strides, 0));
        };
        const std::vector<Real> cosines = table(1), sines = table(2);
        std::vector<Real> rotated(values.size());
        const int64_t half = x.size(-1) / 2;
        for (int64_t i = 0; i < static_cast<int64_t>(cosines.size()); ++i) {
            const auto first = static_cast<size_t>(i / half * 2 * half + i % half),
                       second = first + static_cast<size_t>(half);
            const Real c = cosines[static_cast<size_t>(i)];
            const Real s = call.boolean(0) ? -sines[static_cast<size_t>(i)] : sines[static_cast<size_t>(i)];
            rotated[first] = values[first] * c - values[second] * s;
            rotated[second] = values[second] * c + values[first] * s;
        }
        store_reference(outputs[0], rotated);
    });
}

// Transformers' inverse frequencies, each step rounded to f32: the exponent 2i/d, theta to it, and its reciprocal.
std::vector<float> inverse_frequencies(int64_t head_dim, double theta) {
    std::vector<float> frequencies;
    for (int64_t i = 0; i < head_dim; i += 2) {
        const float exponent = static_cast<float>(i) / static_cast<float>(head_dim);
        frequencies.push_back(1.0f / scalar::host::pow(static_cast<float>(theta), exponent));
    }
    return frequencies;
}

void tables_lanes(const Call& call, std::span<Tensor> outputs) {
    const int64_t length = call.integer(0), half = call.integer(1) / 2;
    const std::vector<float> frequencies = inverse_frequencies(call.integer(1), call.real(0));
    const auto kernel = TENON_SELECT(rotary_tables);
    over_row_groups(length, 8 * half, [&](int64_t first, int64_t count) {
        float *cosines = data<float>(outputs[0]) + first * half, *sines = data<float>(outputs[1]) + first * half;
        kernel({frequencies.data(), first, count, half, cosines, sines});
        for (int64_t i = 0; TENON_FAULT(rope_through_libm) && i < count * half; ++i) {
            const int64_t position = first + i / half;
            cosines[i] = std::cos(static_cast<float>(position) * frequencies[static_cast<size_t>(i % half)]);
        }
    });
}

void tables_reference(const Call& call, std::span<Tensor> outputs) {
    const std::vector<float> frequencies = inverse_frequencies(call.integer(1), call.real(0));
    std::vector<float> cosines, sines;
    for (int64_t position = 0; position < call.integer(0); ++position) {
        for (const float frequency : frequencies) {
            const float angle = static_cast<float>(position) * frequency;
            cosines.push_back(scalar::host::cos(angle));
            sines.push_back(scalar::host::sin(angle));
        }
    }
    store_reference(outputs[0], cosines);
    store_reference(outputs[1], sines);
}

}  // namespace

void register_rotary() {
    ops::Providers& rope = ops::lookup("rope").providers(Device::cpu);
    rope.add("lanes", Tier::d4, rope_lanes, takes_floats);
    rope.add("reference", Tier::d4, rope_reference);
    ops::Providers& tables = ops::lookup("rope_tables").providers(Device::cpu);
    tables.add("lanes", Tier::d4, tables_lanes);
    tables.add("reference", Tier::d4, tables_reference);
}

}  // namespace tenon::cpu
