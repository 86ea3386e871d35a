// The one path of every op call: rule, memory, provider, then the slots that other layers fill.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/tensor.h"
#include "tenon/ops/op.h"

namespace tenon::ops {

// For ops of one output.
Tensor dispatch(const Op& op, std::span<const Tensor> inputs, const Attributes& attributes);
// Outputs in schema order.
std::vector<Tensor> dispatch_all(const Op& op, std::span<const Tensor> inputs, const Attributes& attributes);

// What layers below plug in, once, at start-up. A null slot is skipped.
struct Slots {
    // Called when gradients are recorded and an input needs one; marks the outputs.
    void (*record)(const Call&, std::span<Tensor> outputs) = nullptr;
    // Called for every call that is no composite, after it ran.
    void (*trace)(const Call&, std::span<const Tensor> outputs) = nullptr;
    // Takes calls over distributed tensors; returns whether it did.
    bool (*distribute)(const Call&, std::span<Tensor> outputs) = nullptr;
    // Runs a CPU kernel in a checked floating-point environment, and restores the caller's after it.
    void (*run_cpu)(Kernel kernel, const Call&, std::span<Tensor> outputs) = nullptr;
};
Slots& slots();

// Whether ops called on this thread are recorded for backward.
bool grad_enabled() noexcept;
class GradMode {
public:
    explicit GradMode(bool on) noexcept;
    ~GradMode();
    GradMode(const GradMode&) = delete;
    GradMode& operator=(const GradMode&) = delete;

private:
    bool before_;
};
// { const NoGrad guard; … }
class NoGrad : GradMode {
public:
    NoGrad() noexcept : GradMode(false) {}
};

// Where creation ops put tensors when no device is named.
Device default_device() noexcept;
class DefaultDevice {
public:
    explicit DefaultDevice(Device device) noexcept;
    ~DefaultDevice();
    DefaultDevice(const DefaultDevice&) = delete;
    DefaultDevice& operator=(const DefaultDevice&) = delete;

private:
    Device before_;
};

// FLOPs, bytes and calls of everything dispatched on this thread while it lives. Works on every device, meta included.
class CostCounter {
public:
    CostCounter() noexcept;
    ~CostCounter();
    CostCounter(const CostCounter&) = delete;
    CostCounter& operator=(const CostCounter&) = delete;
    const Cost& total() const noexcept { return total_; }
    int64_t calls() const noexcept { return calls_; }
    void add(const Cost& cost) noexcept;

private:
    CostCounter* outer_;
    Cost total_;
    int64_t calls_ = 0;
};

// The tier below which no provider of this process runs.
Tier minimum_tier() noexcept;
void set_minimum_tier(Tier tier) noexcept;

struct ProviderUse {
    std::string op;
    std::string device;
    std::string provider;
    Tier tier = Tier::d4;
    uint64_t calls = 0;
};
// Providers that ran since start-up, in the table's order.
std::vector<ProviderUse> provider_uses();

}  // namespace tenon::ops
