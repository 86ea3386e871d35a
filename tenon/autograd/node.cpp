#include "tenon/autograd/node.h"

#include <utility>

namespace tenon::autograd {

namespace {

// What a dying node held. Kept in a list, so that a chain of a million nodes is freed in a loop, not by recursion.
struct Remains {
    std::vector<Edge> edges;
    std::vector<Saved> saved;
};
thread_local std::vector<Remains>* being_freed = nullptr;

}  // namespace

Node::~Node() {
    Remains own{std::move(edges), std::move(saved_inputs)};
    if (being_freed != nullptr) {
        being_freed->push_back(std::move(own));
        return;
    }
    std::vector<Remains> list;
    being_freed = &list;
    list.push_back(std::move(own));
    while (!list.empty()) {
        const Remains next = std::move(list.back());
        list.pop_back();
    }
    being_freed = nullptr;
}

void Node::release() {
    saved_inputs.clear();
    saved_outputs.clear();
    released = true;
}

Meta* find_meta(const Tensor& tensor) {
    return static_cast<Meta*>(tensor.get().autograd.get());
}

Meta& meta_of(const Tensor& tensor) {
    TensorImpl& impl = tensor.get();
    if (impl.autograd == nullptr) impl.autograd = std::make_unique<Meta>();
    return static_cast<Meta&>(*impl.autograd);
}

}  // namespace tenon::autograd
