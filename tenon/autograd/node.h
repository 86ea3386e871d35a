// One recorded call. Nodes point at what they consumed: a graph is walked from its end.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/autograd/autograd.h"
#include "tenon/autograd/saved.h"
#include "tenon/core/tensor.h"
#include "tenon/ops/op.h"

namespace tenon::autograd {

struct Node;

// Where an input came from: an output of another node, or a leaf. Neither where no gradient is needed.
struct Edge {
    Intrusive<Node> node;
    int output = 0;
    Tensor leaf;
    bool needed() const { return node || leaf.defined(); }
};

struct Node : Counted {
    ~Node();

    const ops::Op* op = nullptr;
    uint64_t sequence = 0;
    ops::Attributes attributes;
    std::vector<Edge> edges;  // one per input
    std::vector<Saved> saved_inputs;
    std::vector<Saved> saved_outputs;
    std::vector<Shape> input_shapes;
    std::vector<DType> input_dtypes;
    std::vector<std::vector<Hook>> hooks;  // per output; empty where there are none
    int outputs = 0;
    bool released = false;

    // Drops saved values; walking the node again is then an error.
    void release();
};

// What a tensor carries.
struct Meta : AutogradMeta {
    Intrusive<Node> node;  // null for a leaf
    int output = 0;
    Tensor grad;  // leaves only
    std::vector<Hook> hooks;
    std::vector<AccumulateHook> accumulate_hooks;
};

// The tensor's meta, made on first use; and as it is, or null.
Meta& meta_of(const Tensor& tensor);
Meta* find_meta(const Tensor& tensor);

}  // namespace tenon::autograd
