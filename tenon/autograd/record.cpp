#include "tenon/autograd/record.h"

#include <atomic>

#include "tenon/autograd/node.h"
#include "tenon/ops/dispatch.h"

namespace tenon::autograd {

namespace {

// Relaxed: numbers only have to differ and to grow along each thread.
std::atomic<uint64_t> next_sequence{1};

Edge edge_to(const Tensor& input) {
    if (!input.defined() || !input.requires_grad()) return {};
    Meta* meta = find_meta(input);
    if (meta != nullptr && meta->node) return {meta->node, meta->output, {}};
    return {{}, 0, input};
}

// Elementwise math: an input is needed where the gradient of one that wants it reads it.
uint64_t inputs_read_by_gradients(const ops::Op& op, const std::vector<Edge>& edges) {
    uint64_t mask = 0;
    for (size_t i = 0; i < edges.size(); ++i) {
        if (edges[i].needed()) mask |= op.gradient(static_cast<int>(i)).inputs_read();
    }
    return mask;
}

}  // namespace

void record(const ops::Call& call, std::span<Tensor> outputs) {
    bool any_floating = false;
    for (const Tensor& output : outputs) any_floating |= output.defined() && is_floating(output.dtype());
    if (!any_floating) return;

    Intrusive<Node> node(new Node);
    node->op = &call.op;
    node->sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
    node->attributes = call.attributes;
    node->outputs = static_cast<int>(outputs.size());
    for (const Tensor& input : call.inputs) {
        node->edges.push_back(edge_to(input));
        node->input_shapes.push_back(input.defined() ? input.shape() : Shape());
        node->input_dtypes.push_back(input.defined() ? input.dtype() : DType::f32);
    }
    const bool written = call.op.derivative_rule() != nullptr;
    const uint64_t reads = written ? call.op.saved_inputs() : inputs_read_by_gradients(call.op, node->edges);
    node->saved_inputs.resize(call.inputs.size());
    const bool is_list = !call.op.schema().inputs.empty() && call.op.schema().inputs[0].list;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
        const bool saves = (reads >> (is_list ? 0 : i) & 1) != 0;
        if (saves && call.inputs[i].defined()) node->saved_inputs[i] = Saved(call.inputs[i]);
    }
    node->saved_outputs.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
        // Without its own history: an output that held its node would never be freed.
        if ((call.op.saved_outputs() >> i & 1) != 0) node->saved_outputs[i] = Saved(outputs[i].detach());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].defined() || !is_floating(outputs[i].dtype())) continue;
        Meta& meta = meta_of(outputs[i]);
        meta.node = node;
        meta.output = static_cast<int>(i);
        outputs[i].get().requires_grad = true;
    }
}

}  // namespace tenon::autograd
