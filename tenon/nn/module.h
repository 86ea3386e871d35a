// Module: a tree of named parameters with a mode.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/random.h"
#include "tenon/core/tensor.h"
#include "tenon/nn/initializer.h"

namespace tenon::nn {

struct NamedParameter {
    std::string name;  // full: "model.layers.0.mlp.up_proj.weight"
    Tensor tensor;
    Initializer initializer;
    bool decays = false;  // weight decay applies: matrices, not norms and biases
};

class Module {
public:
    Module() = default;
    virtual ~Module() = default;
    // Children and parameters are members that the base class points to.
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    // In order of registration, depth first. A tensor registered twice (tied) counts once, under its first name.
    std::vector<NamedParameter> parameters() const;
    // Draws every parameter anew, in place.
    void initialize(uint64_t seed);
    void set_training(bool on);
    bool training() const { return training_; }
    const std::string& name() const { return name_; }

protected:
    // Creates the parameter on the default device, f32, requiring a gradient. Uninitialised until initialize().
    void add_parameter(std::string_view name, Tensor& member, const Shape& shape, Initializer initializer);
    void add_module(std::string_view name, Module& child);

private:
    struct Slot {
        std::string name;
        Tensor* tensor;
        Initializer initializer;
    };
    void collect(const std::string& prefix, std::vector<NamedParameter>& into) const;

    std::string name_;
    std::vector<Slot> slots_;
    std::vector<Module*> children_;
    bool training_ = true;
};

}  // namespace tenon::nn
