// Kernels of ops/norms.cpp.
#include <cstring>

#include "tenon/cpu/access.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/reductions.h"
#include "tenon/cpu/reference_sum.h"
#include "tenon/cpu/reference_values.h"
#include "tenon/cpu/rows.h"
#include "tenon/cpu/scratch.h"
#include "tenon/cpu/sets/norms.h"
#include "tenon/cpu/sets/sum_order.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"
#include "tenon/scalar/single.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(void rms_norm_rows(const NormRows& p); void layer_norm_rows(const NormRows& p);
                   void rms_norm_gradient_rows(const NormGradientRows& p);
                   void layer_norm_gradient_rows(const NormGradientRows& p); void fold_lanes(float* sums, int64_t n);)

namespace {

using ops::Call;
using ops::Reason;
using ops::Tier;

Reason takes_floats(const Call& call) {
    return has_vector_kernels(call.input(0).dtype()) ? Reason::ok : Reason::dtype;
}

// A weight or bias as adjacent elements, or null. `copy` keeps it where it was not.
const void* adjacent_parameter(const Call& call, int input, Tensor& copy) {
    if (!call.has(input)) return nullptr;
    copy = call.input(input);
    if (!copy.is_contiguous()) {
        copy = Tensor(copy.shape(), copy.dtype(), Device::cpu);
        copy_elements(call.input(input), copy);
    }
    return data(copy);
}

// One f32 for each row. `copy` keeps them where they are not stored so.
const float* adjacent_floats(const Tensor& x, std::vector<float>& copy) {
    if (x.dtype() == DType::f32 && x.is_contiguous()) return data<float>(x);
    copy = reference_values<float>(x);
    return copy.data();
}

void forward_lanes(const Call& call, std::span<Tensor> outputs, bool is_layer) {
    const Tensor& x = call.input(0);
    const Rows rows(x);
    Tensor weight, bias;
    NormRows all{};
    all.type = element_of(x.dtype());
    all.n = rows.length();
    all.weight = adjacent_parameter(call, 1, weight);
    all.bias = is_layer ? adjacent_parameter(call, 2, bias) : nullptr;
    all.eps = static_cast<float>(call.real(0));
    const auto kernel = is_layer ? TENON_SELECT(layer_norm_rows) : TENON_SELECT(rms_norm_rows);
    over_row_groups(rows.count(), rows.length(), [&](int64_t first, int64_t count) {
        char* memory = rows.adjacent() ? nullptr : reinterpret_cast<char*>(thread_scratch(rows.length()));
        for (int64_t row = first; row < first + count;) {
            NormRows p = all;
            p.rows = std::min(usable_run(rows, row), first + count - row);
            const RowRun from = read_run(rows, row, memory);
            p.x = from.first;
            p.x_row = from.stride;
            p.y = data<char>(outputs[0]) + row * rows.row_bytes();
            p.mean = is_layer ? data<float>(outputs[1]) + row : nullptr;
            p.r = data<float>(outputs[is_layer ? 2 : 1]) + row;
            kernel(p);
            row += p.rows;
        }
    });
}

// Sums over rows in lanes: 16 rows of n for each block of 4096 rows.
struct LaneSums {
    Tensor memory;
    float* sums = nullptr;
    int64_t blocks, n;

    LaneSums(int64_t the_blocks, int64_t the_n) : blocks(the_blocks), n(the_n) {
        const int64_t bytes = blocks * 16 * n * 4;
        memory = Tensor({bytes}, DType::u8, Device::cpu);
        sums = data<float>(memory);
        if (bytes > 0) std::memset(sums, 0, static_cast<size_t>(bytes));
    }
    float* lane(int64_t block, int64_t lane) const { return sums + (block * 16 + lane) * n; }

    void store(Tensor& out) const {
        parallel_for(blocks, [&](int64_t block) { TENON_SELECT(fold_lanes)(lane(block, 0), n); });
        for (int64_t column = 0; column < n; ++column) {
            PartialSums<float> total;
            for (int64_t block = 0; block < blocks; ++block) total.push(lane(block, 0)[column]);
            const float result = total.total();
            store_floats(&result, 1, out, column);
        }
    }
};

struct GradientCall {
    Rows g, x;
    NormGradientRows all;  // what all rows share
    const float *mean, *r;
    char* dx;
    const LaneSums *weight_sums, *bias_sums;  // null where nobody asks
    void (*kernel)(const NormGradientRows&);
};

// Rows `lane` and `lane + 1` of each 16 in a block, in order: the lanes of the sums over rows.
void gradient_of_lane_pair(const GradientCall& call, int64_t block, int64_t lane) {
    const int64_t first = block * kSumBlock, end = std::min(call.g.count(), first + kSumBlock), n = call.all.n;
    const auto run = [&](int64_t row, int64_t lanes, int64_t steps) {
        NormGradientRows p = call.all;
        char* memory = reinterpret_cast<char*>(thread_scratch(2 * n));
        const RowRun g = read_run(call.g, row, memory), x = read_run(call.x, row, memory + n * 4);
        p.g = g.first, p.g_row = g.stride;
        p.x = x.first, p.x_row = x.stride;
        p.mean = call.mean != nullptr ? call.mean + row : nullptr;
        p.r = call.r + row;
        p.dx = call.dx + row * call.x.row_bytes();
        p.lanes = lanes;
        p.steps = steps;
        if (call.weight_sums != nullptr) p.weight_sums = call.weight_sums->lane(block, row % 16);
        if (call.bias_sums != nullptr) p.bias_sums = call.bias_sums->lane(block, row % 16);
        call.kernel(p);
    };
    if (call.g.regular() && call.x.regular()) {
        const int64_t pairs = (end - first - lane - 1 + 15) / 16;
        if (pairs > 0) run(first + lane, 2, pairs);
        // The last step may have the first of the two only.
        const int64_t last = first + lane + pairs * 16;
        if (last < end) run(last, 1, 1);
        return;
    }
    for (int64_t row = first + lane; row < end; row += 16) {
        run(row, 1, 1);
        if (row + 1 < end) run(row + 1, 1, 1);
    }
}

void backward_lanes(const Call& call, std::span<Tensor> outputs, bool is_layer) {
    const Tensor& x = call.input(1);
    const int64_t n = x.size(-1);
    Tensor weight;
    std::vector<float> mean, r;
    GradientCall gradient{Rows(call.input(0)),
                          Rows(x),
                          {},
                          nullptr,
                          nullptr,
                          data<char>(outputs[0]),
                          nullptr,
                          nullptr,
                          is_layer ? TENON_SELECT(layer_norm_gradient_rows) : TENON_SELECT(rms_norm_gradient_rows)};
    gradient.all.type = element_of(x.dtype());
    gradient.all.n = n;
    gradient.all.weight = adjacent_parameter(call, 2, weight);
    if (is_layer) gradient.mean = adjacent_floats(call.input(3), mean);
    gradient.r = adjacent_floats(call.input(is_layer ? 4 : 3), r);
    const int64_t blocks = n == 0 ? 0 : (x.numel() / n + kSumBlock - 1) / kSumBlock;
    const bool sums_weight = is_layer || call.has(2);
    const LaneSums weight_sums(sums_weight ? blocks : 0, n), bias_sums(is_layer ? blocks : 0, n);
    if (sums_weight) gradient.weight_sums = &weight_sums;
    if (is_layer) gradient.bias_sums = &bias_sums;
    parallel_for(blocks * 8, [&](int64_t tile) { gradient_of_lane_pair(gradient, tile / 8, tile % 8 * 2); });
    if (sums_weight) weight_sums.store(outputs[1]);
    if (is_layer) bias_sums.store(outputs[2]);
}

template <bool is_layer>
void norm_lanes(const Call& call, std::span<Tensor> outputs) {
    forward_lanes(call, outputs, is_layer);
}
template <bool is_layer>
void norm_gradient_lanes(const Call& call, std::span<Tensor> outputs) {
    backward_lanes(call, outputs, is_layer);
}

// --- plain loops --------------------------------------------------------------------------------------------------

template <class Real>
std::vector<Real> optional_values(const Call& call, int input) {
    return call.has(input) ? reference_values<Real>(call.input(input)) : std::vector<Real>();
}

template <bool is_layer>
void norm_reference(const Call& call, std::span<Tensor> outputs) {
    with_real(outputs[0].dtype(), [&](auto zero) {
        using Real = decltype(zero);
        const int64_t n = outputs[0].size(-1), rows = outputs[is_layer ? 2 : 1].numel();
        std::vector<Real> values = reference_values<Real>(call.input(0)), means, roots;
        const std::vector<Real> weight = optional_values<Real>(call, 1);
        const std::vector<Real> bias = is_layer ? optional_values<Real>(call, 2) : std::vector<Real>();
        for (int64_t row = 0; row < rows; ++row) {
            Real* x = values.data() + row * n;
            if (is_layer) {
                means.push_back(reference_sum<Real>(n, [=](int64_t i) { return x[i]; }) / static_cast<Real>(n));
                for (int64_t i = 0; i < n; ++i) x[i] = x[i] - means.back();
            }
            const Real squares = reference_sum<Real>(n, [=](int64_t i) { return x[i] * x[i]; });
            const Real eps = static_cast<Real>(call.real(0));
            roots.push_back(1 / scalar::square_root(squares / static_cast<Real>(n) + eps));
            for (int64_t i = 0; i < n; ++i) {
                const auto at = static_cast<size_t>(i);
                x[i] = x[i] * roots.back();
                if (!weight.empty()) x[i] = x[i] * weight[at];
                if (!bias.empty()) x[i] = x[i] + bias[at];
            }
        }
        store_reference(outputs[0], values);
        if (is_layer) store_reference(outputs[1], means);
        store_reference(outputs[is_layer ? 2 : 1], roots);
    });
}

template <bool is_layer>
void norm_gradient_reference(const Call& call, std::span<Tensor> outputs) {
    with_real(outputs[0].dtype(), [&](auto zero) {
        using Real = decltype(zero);
        const std::vector<Real> g = reference_values<Real>(call.input(0)), weight = optional_values<Real>(call, 2);
        const std::vector<Real> r = reference_values<Real>(call.input(is_layer ? 4 : 3));
        std::vector<Real> h = reference_values<Real>(call.input(1)), dx = g;
        const std::vector<Real> mean = is_layer ? reference_values<Real>(call.input(3)) : std::vector<Real>(r.size());
        const int64_t n = outputs[0].size(-1), rows = static_cast<int64_t>(r.size());
        for (int64_t row = 0; row < rows; ++row) {
            Real *h_row = h.data() + row * n, *gw = dx.data() + row * n;
            const Real root = r[static_cast<size_t>(row)], centre = mean[static_cast<size_t>(row)];
            for (int64_t i = 0; i < n; ++i) {
                h_row[i] = (is_layer ? h_row[i] - centre : h_row[i]) * root;
                if (!weight.empty()) gw[i] = gw[i] * weight[static_cast<size_t>(i)];
            }
            const Real count = static_cast<Real>(n);
            const Real a = reference_sum<Real>(n, [=](int64_t i) { return gw[i]; }) / count;
            const Real m = reference_sum<Real>(n, [=](int64_t i) { return gw[i] * h_row[i]; }) / count;
            for (int64_t i = 0; i < n; ++i) gw[i] = ((is_layer ? gw[i] - a : gw[i]) - h_row[i] * m) * root;
        }
        store_reference(outputs[0], dx);
        std::vector<Real> dweight, dbias;
        for (int64_t i = 0; i < n; ++i) {
            const auto at = [=](int64_t row) { return static_cast<size_t>(row * n + i); };
            dweight.push_back(reference_sum<Real>(rows, [&](int64_t row) { return g[at(row)] * h[at(row)]; }));
            dbias.push_back(reference_sum<Real>(rows, [&](int64_t row) { return g[at(row)]; }));
        }
        if (outputs[1].defined()) store_reference(outputs[1], dweight);
        if (is_layer) store_reference(outputs[2], dbias);
    });
}

void add(std::string_view op, ops::Kernel fast, ops::Kernel plain) {
    ops::Providers& providers = ops::lookup(op).providers(Device::cpu);
    providers.add("lanes", Tier::d4, fast, takes_floats);
    providers.add("reference", Tier::d4, plain);
}

}  // namespace

void register_norms() {
    add("rms_norm_forward", norm_lanes<false>, norm_reference<false>);
    add("layer_norm_forward", norm_lanes<true>, norm_reference<true>);
    add("rms_norm_backward", norm_gradient_lanes<false>, norm_gradient_reference<false>);
    add("layer_norm_backward", norm_gradient_lanes<true>, norm_gradient_reference<true>);
}

}  // namespace tenon::cpu
