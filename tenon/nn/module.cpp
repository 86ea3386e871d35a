#include "tenon/nn/module.h"

#include <algorithm>

#include "tenon/base/fault.h"
#include "tenon/ops/dispatch.h"

namespace tenon::nn {

std::vector<NamedParameter> Module::parameters() const {
    std::vector<NamedParameter> all;
    collect("", all);
    return all;
}

void Module::collect(const std::string& prefix, std::vector<NamedParameter>& into) const {
    for (const Slot& slot : slots_) {
        const bool is_tied = std::any_of(into.begin(), into.end(),
                                         [&](const NamedParameter& seen) { return seen.tensor.same_as(*slot.tensor); });
        if (is_tied && !TENON_FAULT(tied_counts_twice)) continue;
        into.push_back({prefix + slot.name, *slot.tensor, slot.initializer, slot.tensor->rank() >= 2});
    }
    for (const Module* child : children_) child->collect(prefix + child->name_ + ".", into);
}

void Module::initialize(uint64_t seed) {
    for (NamedParameter& each : parameters()) nn::initialize(each.tensor, each.initializer, seed, each.name);
}

void Module::set_training(bool on) {
    training_ = on;
    for (Module* child : children_) child->set_training(on);
}

void Module::add_parameter(std::string_view name, Tensor& member, const Shape& shape, Initializer initializer) {
    member = Tensor(shape, DType::f32, ops::default_device());
    member.set_requires_grad(true);
    slots_.push_back({std::string(name), &member, initializer});
}

void Module::add_module(std::string_view name, Module& child) {
    child.name_ = name;
    children_.push_back(&child);
}

}  // namespace tenon::nn
