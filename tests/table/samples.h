// Tensors from an op's samples.
#pragma once

#include <string>
#include <vector>

#include "tenon/core/tensor.h"
#include "tenon/ops/op.h"

namespace tenon::tests {

enum class Layout { contiguous, transposed, sliced, expanded };
constexpr Layout all_layouts[] = {Layout::contiguous, Layout::transposed, Layout::sliced, Layout::expanded};
const char* name_of(Layout layout);

// One call: an op, inputs, attributes.
struct TableCall {
    const ops::Op* op = nullptr;
    const ops::Sample* sample = nullptr;
    std::string name;  // "softmax/2": op and number of the sample
};

// Every sample of every op; elementwise ops of several inputs get broadcast shapes on top.
const std::vector<TableCall>& table_calls();
std::string call_name(const TableCall& call);

// Deterministic values; the same sample gives the same values in every layout but expanded, whose values repeat.
Tensor make_input(const ops::SampleInput& input, DType floating, Layout layout, uint64_t seed);
std::vector<Tensor> make_inputs(const ops::Sample& sample, DType floating, Layout layout);
// The same values, contiguous.
std::vector<Tensor> contiguous_copies(const std::vector<Tensor>& inputs);

// Runs the call; draws of random ops start from the same place each time.
std::vector<Tensor> run(const TableCall& call, const std::vector<Tensor>& inputs);

// An op that must be a view of its input may refuse a layout (view itself does); nothing else may.
bool may_refuse_layout(const TableCall& call);

// Registers kernels and autograd, once.
void prepare();

// All values as f64.
std::vector<double> doubles(const Tensor& tensor);
// All bytes, in logical order.
std::vector<uint8_t> bytes(const Tensor& tensor);

}  // namespace tenon::tests
