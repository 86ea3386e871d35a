#include "tests/table/samples.h"

#include <deque>
#include <numeric>

#include "tenon/autograd/autograd.h"
#include "tenon/base/error.h"
#include "tenon/core/random.h"
#include "tenon/cpu/register.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"
#include "tenon/ops/table.h"

namespace tenon::tests {

namespace {

double value_at(const ops::SampleInput& input, uint64_t seed, int64_t i, int64_t count) {
    const Draw draw{seed, 0, 0};
    const double u = (static_cast<double>(random_word(draw, i)) + 0.5) / 0x1p32;
    switch (input.fill) {
        case ops::Fill::normal: {
            // A sum of uniforms is normal enough, and never far out.
            double sum = u;
            for (int64_t k = 1; k < 4; ++k)
                sum += (static_cast<double>(random_word(draw, i + k * 100003)) + 0.5) / 0x1p32;
            return (sum - 2) * 1.7;
        }
        case ops::Fill::positive:
            return 0.5 + 1.5 * u;
        case ops::Fill::unit:
            return 1.8 * u - 0.9;
        case ops::Fill::distinct: {
            // A permutation of a grid without 0: multiplication by a number coprime to the count.
            int64_t step = 7;
            while (std::gcd(step, std::max<int64_t>(count, 1)) != 1) step += 2;
            return (static_cast<double>((i * step + static_cast<int64_t>(seed % 5)) % std::max<int64_t>(count, 1)) -
                    static_cast<double>(count) / 2 + 0.25) *
                   0.37;
        }
        case ops::Fill::integers:
            return static_cast<double>(input.low +
                                       static_cast<int64_t>(u * static_cast<double>(input.high - input.low)));
        case ops::Fill::boolean:
            return u < 0.5 ? 0 : 1;
        case ops::Fill::none:
            break;
    }
    return 0;
}

Tensor values(const ops::SampleInput& input, const Shape& shape, DType dtype, uint64_t seed) {
    const int64_t count = numel(shape);
    std::vector<double> numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(value_at(input, seed, i, count));
    return ops::cast(ops::from_values(numbers, shape), dtype);
}

// The same values with the memory order of the dims reversed.
Tensor transposed(const Tensor& x) {
    Dims order(x.rank(), 0);
    for (int64_t d = 0; d < x.rank(); ++d) order[d] = x.rank() - 1 - d;
    return ops::permute(ops::clone(ops::permute(x, order)), order);
}

// The same values in the middle of larger memory.
Tensor sliced(const Tensor& x) {
    if (x.rank() == 0) return x;
    const int64_t last = x.rank() - 1;
    Shape pad = x.shape();
    pad[last] = 3;
    const Tensor border = ops::full(pad, 1, x.dtype());
    const Tensor parts[] = {border, x, border};
    return ops::narrow(ops::cat(parts, last), last, 3, x.shape()[last]);
}

std::deque<ops::Sample>& broadcast_samples() {
    static std::deque<ops::Sample> samples;
    return samples;
}

void add_broadcast_calls(const ops::Op& op, std::vector<TableCall>& calls) {
    const size_t inputs = op.schema().inputs.size();
    if (!op.is_elementwise() || inputs < 2) return;
    const std::vector<std::vector<Shape>> shapes = {
        {{2, 3}, {3}, {1, 3}}, {{2, 1}, {1, 3}, {3}}, {{}, {2, 3}, {2, 1}}, {{2, 3}, {}, {}}, {{0, 3}, {3}, {1}}};
    for (const std::vector<Shape>& row : shapes) {
        ops::Sample sample = op.sample_list().front();
        for (size_t i = 0; i < inputs; ++i) sample.inputs[i].shape = row[i % row.size()];
        broadcast_samples().push_back(sample);
        calls.push_back(
            {&op, &broadcast_samples().back(), std::string(op.name()) + "/broadcast" + std::to_string(calls.size())});
    }
}

std::vector<TableCall> make_calls() {
    prepare();
    std::vector<TableCall> calls;
    for (const ops::Op& op : ops::table().all()) {
        int number = 0;
        for (const ops::Sample& sample : op.sample_list()) {
            calls.push_back({&op, &sample, std::string(op.name()) + "/" + std::to_string(number++)});
        }
        add_broadcast_calls(op, calls);
    }
    return calls;
}

}  // namespace

const char* name_of(Layout layout) {
    constexpr const char* names[] = {"contiguous", "transposed", "sliced", "expanded"};
    return names[static_cast<size_t>(layout)];
}

const std::vector<TableCall>& table_calls() {
    static const std::vector<TableCall> calls = make_calls();
    return calls;
}

std::string call_name(const TableCall& call) {
    std::string name = call.name;
    for (char& c : name) {
        if (c == '/') c = '_';
    }
    return name;
}

Tensor make_input(const ops::SampleInput& input, DType floating, Layout layout, uint64_t seed) {
    if (input.fill == ops::Fill::none) return {};
    const DType dtype = input.fill == ops::Fill::integers  ? DType::i64
                        : input.fill == ops::Fill::boolean ? DType::boolean
                                                           : floating;
    Shape shape = input.shape;
    if (layout == Layout::expanded && !shape.empty() && shape[0] > 0) {
        shape[0] = 1;
        return ops::expand(values(input, shape, dtype, seed), input.shape);
    }
    const Tensor plain = values(input, shape, dtype, seed);
    if (layout == Layout::transposed) return transposed(plain);
    return layout == Layout::sliced ? sliced(plain) : plain;
}

std::vector<Tensor> make_inputs(const ops::Sample& sample, DType floating, Layout layout) {
    std::vector<Tensor> inputs;
    uint64_t seed = 11;
    for (const ops::SampleInput& input : sample.inputs) inputs.push_back(make_input(input, floating, layout, seed++));
    return inputs;
}

std::vector<Tensor> contiguous_copies(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> copies;
    for (const Tensor& input : inputs) copies.push_back(input.defined() ? ops::clone(input) : input);
    return copies;
}

std::vector<Tensor> run(const TableCall& call, const std::vector<Tensor>& inputs) {
    set_generator_state({7, 0});
    return ops::dispatch_all(*call.op, inputs, call.sample->attributes);
}

bool may_refuse_layout(const TableCall& call) {
    return call.op->schema().name == "view";
}

void prepare() {
    cpu::register_kernels();
    autograd::register_autograd();
}

std::vector<double> doubles(const Tensor& tensor) {
    return ops::to_vector<double>(ops::cast(tensor, DType::f64));
}

std::vector<uint8_t> bytes(const Tensor& tensor) {
    std::vector<uint8_t> all(static_cast<size_t>(tensor.numel() * size_of(tensor.dtype())));
    if (!all.empty()) ops::copy_to_host(tensor, all.data());
    return all;
}

}  // namespace tenon::tests
