#include "tenon/autograd/engine.h"

#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "tenon/autograd/node.h"
#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/operators.h"

namespace tenon::autograd {

namespace {

struct LaterFirst {
    bool operator()(const Node* a, const Node* b) const {
        if (TENON_FAULT(nodes_earliest_first)) return a->sequence > b->sequence;
        return a->sequence < b->sequence;
    }
};

struct LeafState {
    Tensor leaf;
    Tensor grad;
    int64_t uses_left = 0;
};

class Walker {
public:
    explicit Walker(const Walk& walk) : walk_(walk) {}

    std::vector<Tensor> run() {
        find_graph();
        start();
        while (!queue_.empty()) {
            Node* node = queue_.top();
            queue_.pop();
            visit(node);
        }
        return collect();
    }

private:
    bool wants_leaves() const { return walk_.targets.empty(); }

    // Counts each leaf's uses in the part of the graph that the roots reach.
    void find_graph() {
        std::unordered_set<const Node*> seen;
        std::vector<Node*> stack;
        const auto reach = [&](const Intrusive<Node>& node) {
            if (node && seen.insert(node.get()).second) stack.push_back(node.get());
        };
        for (const Tensor& root : walk_.roots) {
            const Meta* meta = find_meta(root);
            if (meta != nullptr) reach(meta->node);
        }
        while (!stack.empty()) {
            const Node* node = stack.back();
            stack.pop_back();
            for (const Edge& edge : node->edges) {
                reach(edge.node);
                if (edge.leaf.defined()) leaf_state(edge.leaf).uses_left++;
            }
        }
        for (size_t i = 0; i < walk_.targets.size(); ++i) {
            const Meta* meta = find_meta(walk_.targets[i]);
            if (meta != nullptr && meta->node) wanted_[meta->node.get()].push_back({meta->output, i});
        }
        target_grads_.resize(walk_.targets.size());
    }

    void start() {
        for (size_t i = 0; i < walk_.roots.size(); ++i) {
            const Tensor& root = walk_.roots[i];
            if (!root.requires_grad()) {
                throw Error(Code::usage, "backward",
                            describe(root) + " does not depend on anything that requires a gradient");
            }
            Tensor grad = i < walk_.root_grads.size() ? walk_.root_grads[i] : Tensor();
            if (!grad.defined()) {
                if (root.numel() != 1) {
                    throw Error(
                        Code::usage, "backward",
                        "the root is " + describe(root) + "; give its gradient, or reduce it to one element first");
                }
                grad = ops::ones(root.shape(), root.dtype(), root.device());
            } else if (grad.shape() != root.shape()) {
                throw Error(Code::usage, "backward",
                            "the gradient of the root is " + describe(grad) + " and the root " + describe(root));
            }
            const Meta* meta = find_meta(root);
            if (meta != nullptr && meta->node) {
                deliver(meta->node, meta->output, grad);
            } else {
                leaf_state(root).uses_left++;
                deliver_to_leaf(root, grad);
            }
        }
    }

    LeafState& leaf_state(const Tensor& leaf) {
        const auto [at, is_new] = leaves_.try_emplace(&leaf.get(), LeafState{leaf, {}, 0});
        if (is_new) leaf_order_.push_back(&leaf.get());
        return at->second;
    }

    static void meet(Tensor& so_far, const Tensor& grad) { so_far = so_far.defined() ? so_far + grad : grad; }

    void deliver(const Intrusive<Node>& node, int output, const Tensor& grad) {
        const auto [at, is_new] = pending_.try_emplace(node.get());
        if (is_new) {
            at->second.resize(static_cast<size_t>(node->outputs));
            queue_.push(node.get());
            alive_.emplace(node.get(), node);
        }
        meet(at->second[static_cast<size_t>(output)], grad);
    }

    void deliver_to_leaf(const Tensor& leaf, const Tensor& grad) {
        LeafState& state = leaf_state(leaf);
        if (grad.defined()) meet(state.grad, grad);
        if (grad.defined() && TENON_FAULT(node_replayed)) meet(state.grad, grad);
        if (--state.uses_left > 0 || !state.grad.defined()) return;
        const Meta* meta = find_meta(leaf);
        if (meta != nullptr) state.grad = apply_hooks(meta->hooks, state.grad);
        if (wants_leaves()) accumulate(leaf, state.grad);
    }

    static Tensor apply_hooks(const std::vector<Hook>& hooks, Tensor grad) {
        for (const Hook& hook : hooks) {
            const Tensor replaced = hook(grad);
            if (replaced.defined()) grad = replaced;
        }
        return grad;
    }

    static void accumulate(const Tensor& leaf, const Tensor& grad) {
        Meta& meta = meta_of(leaf);
        meet(meta.grad, grad);
        for (const AccumulateHook& hook : meta.accumulate_hooks) hook(leaf);
    }

    void visit(Node* node) {
        std::vector<Tensor> grads = std::move(pending_[node]);
        pending_.erase(node);
        const Intrusive<Node> alive = std::move(alive_[node]);
        alive_.erase(node);
        for (size_t i = 0; i < node->hooks.size(); ++i) {
            if (grads[i].defined()) grads[i] = apply_hooks(node->hooks[i], grads[i]);
        }
        const auto wanted = wanted_.find(node);
        if (wanted != wanted_.end()) {
            for (const auto& [output, target] : wanted->second)
                target_grads_[target] = grads[static_cast<size_t>(output)];
        }
        if (node->released) {
            throw Error(Code::usage, "backward",
                        std::string("the values saved by ") + node->op->name() +
                            " were released by an earlier walk; pass retain_graph to walk a graph twice");
        }
        std::vector<Tensor> input_grads = differentiate(*node, alive, grads);
        if (!walk_.options.retain_graph && !walk_.options.create_graph) node->release();
        for (size_t i = 0; i < node->edges.size(); ++i) {
            const Edge& edge = node->edges[i];
            if (!edge.needed()) continue;
            Tensor grad = std::move(input_grads[i]);
            if (grad.defined()) grad = reduce_to(grad, node->input_shapes[i], node->input_dtypes[i]);
            if (edge.leaf.defined()) {
                deliver_to_leaf(edge.leaf, grad);
            } else if (grad.defined()) {
                deliver(edge.node, edge.output, grad);
            }
        }
    }

    static std::vector<Tensor> differentiate(const Node& node, const Intrusive<Node>& handle,
                                             const std::vector<Tensor>& grads) {
        std::vector<Tensor> inputs(node.edges.size());
        std::vector<Tensor> outputs(static_cast<size_t>(node.outputs));
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (!node.saved_inputs[i].empty()) inputs[i] = node.saved_inputs[i].get(node.op->name());
        }
        for (size_t i = 0; i < outputs.size(); ++i) {
            if (node.saved_outputs[i].empty()) continue;
            outputs[i] = node.saved_outputs[i].get(node.op->name()).detach();
            if (!is_floating(outputs[i].dtype())) continue;
            // A gradient of the gradient flows through the output to the same node.
            Meta& meta = meta_of(outputs[i]);
            meta.node = handle;
            meta.output = static_cast<int>(i);
            outputs[i].get().requires_grad = true;
        }
        std::vector<Tensor> input_grads(node.edges.size());
        if (node.op->derivative_rule() == nullptr) {
            differentiate_elementwise(node, inputs, grads[0], input_grads);
            return input_grads;
        }
        std::vector<uint8_t> needed;
        for (const Edge& edge : node.edges) needed.push_back(edge.needed() ? 1 : 0);
        const ops::Backward backward{*node.op,          inputs,          outputs, grads, node.input_shapes,
                                     node.input_dtypes, node.attributes, needed};
        node.op->derivative_rule()(backward, input_grads);
        return input_grads;
    }

    static void differentiate_elementwise(const Node& node, const std::vector<Tensor>& inputs, const Tensor& grad,
                                          std::vector<Tensor>& input_grads) {
        // An input that no gradient reads was not saved: the incoming gradient stands in its place, unread.
        std::vector<Tensor> arguments;
        for (const Tensor& input : inputs) arguments.push_back(input.defined() ? input : grad);
        arguments.push_back(grad);
        for (size_t i = 0; i < node.edges.size(); ++i) {
            if (!node.edges[i].needed()) continue;
            input_grads[i] = ops::dispatch(node.op->gradient(static_cast<int>(i)), arguments, node.attributes);
        }
    }

    std::vector<Tensor> collect() {
        for (size_t i = 0; i < walk_.targets.size(); ++i) {
            const auto leaf = leaves_.find(&walk_.targets[i].get());
            if (leaf != leaves_.end()) target_grads_[i] = leaf->second.grad;
        }
        if (wants_leaves()) finish_starved_leaves();
        return std::move(target_grads_);
    }

    // A use whose consumer got no gradient never arrives: such a leaf is accumulated at the end.
    void finish_starved_leaves() {
        for (TensorImpl* impl : leaf_order_) {
            LeafState& state = leaves_.at(impl);
            if (state.uses_left > 0 && state.grad.defined()) {
                const Meta* meta = find_meta(state.leaf);
                if (meta != nullptr) state.grad = apply_hooks(meta->hooks, state.grad);
                accumulate(state.leaf, state.grad);
            }
        }
    }

    const Walk& walk_;
    std::priority_queue<Node*, std::vector<Node*>, LaterFirst> queue_;
    std::unordered_map<Node*, std::vector<Tensor>> pending_;
    std::unordered_map<Node*, Intrusive<Node>> alive_;
    std::unordered_map<TensorImpl*, LeafState> leaves_;
    std::vector<TensorImpl*> leaf_order_;
    std::unordered_map<const Node*, std::vector<std::pair<int, size_t>>> wanted_;
    std::vector<Tensor> target_grads_;
};

}  // namespace

std::vector<Tensor> walk(const Walk& walk) {
    const ops::GradMode mode(walk.options.create_graph);
    return Walker(walk).run();
}

Tensor reduce_to(const Tensor& grad, const Shape& shape, DType dtype) {
    Tensor reduced = grad;
    if (reduced.shape() != shape) {
        const int64_t extra = reduced.rank() - shape.size();
        Dims dims;
        for (int64_t d = 0; d < reduced.rank(); ++d) {
            if (d < extra || (shape[d - extra] == 1 && reduced.shape()[d] != 1)) dims.push_back(d);
        }
        if (!dims.empty()) reduced = ops::sum(reduced, dims, true);
        reduced = ops::reshape(reduced, shape);
    }
    return reduced.dtype() == dtype ? reduced : ops::cast(reduced, dtype);
}

}  // namespace tenon::autograd
