#include "tenon/ops/dispatch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/base/nearest.h"
#include "tenon/ops/elementwise_rule.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

namespace {

struct Forced {
    const Op* op = nullptr;
    std::string provider;
};

thread_local bool grad_mode = true;
thread_local Device creation_device = Device::cpu;
thread_local CostCounter* cost_counter = nullptr;
thread_local std::vector<Forced> forced_providers;
Tier tier_floor = Tier::d0;

std::string describe_inputs(const Call& call) {
    std::string text;
    for (const Tensor& input : call.inputs) text += (text.empty() ? "" : ", ") + describe(input);
    return text;
}

void check_devices(const Call& call, Device device) {
    for (const Tensor& input : call.inputs) {
        if (!input.defined() || input.device() == device || input.get().weak) continue;
        throw Error(Code::usage, call.op.name(),
                    "inputs are on different devices: one is on " + std::string(name_of(input.device())) +
                        ", another on " + std::string(name_of(device)));
    }
}

void check_inputs(const Call& call) {
    const std::vector<InputSchema>& schema = call.op.schema().inputs;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
        const InputSchema& expected = schema[std::min(i, schema.size() - 1)];
        if (!call.inputs[i].defined() && !expected.optional) {
            throw Error(Code::usage, call.op.name(), "input \"" + expected.name + "\" is undefined");
        }
    }
}

bool any_requires_grad(std::span<const Tensor> inputs) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [](const Tensor& input) { return input.defined() && input.get().requires_grad; });
}

Provider& choose_provider(const Call& call, Device device) {
    std::deque<Provider>& providers = call.op.providers(device).list();
    const Forced* forced = nullptr;
    for (const Forced& each : forced_providers) {
        if (each.op == &call.op) forced = &each;
    }
    std::string reasons;
    for (Provider& provider : providers) {
        if (forced != nullptr && forced->provider != provider.name) continue;
        if (provider.tier < tier_floor && !TENON_FAULT(tier_ignored)) {
            reasons += std::string(" ") + provider.name + " (tier " + std::string(name_of(provider.tier)) + ")";
            continue;
        }
        const Reason reason = provider.supports == nullptr ? Reason::ok : provider.supports(call);
        if (reason == Reason::ok) return provider;
        reasons += std::string(" ") + provider.name + " (" + std::string(name_of(reason)) + ")";
    }
    throw Error(Code::usage, call.op.name(),
                "no kernel on " + std::string(name_of(device)) + " takes (" + describe_inputs(call) + ")" +
                    (reasons.empty() ? "" : "; refused by:" + reasons));
}

void run_kernel(const Call& call, Device device, std::span<Tensor> outputs) {
    if (device == Device::meta) return;
    Provider& provider = choose_provider(call, device);
    if (slots().run_cpu != nullptr) {
        slots().run_cpu(provider.run, call, outputs);
    } else {
        provider.run(call, outputs);
    }
    provider.calls.fetch_add(1, std::memory_order_relaxed);
}

bool is_written(const Call& call, size_t i) {
    return (call.op.mutated_mask() >> i & 1) != 0 && call.inputs[i].defined();
}

// An expanded dim: several elements in one place.
bool repeats_elements(const Tensor& tensor) {
    for (int64_t d = 0; d < tensor.rank(); ++d) {
        if (tensor.strides()[d] == 0 && tensor.shape()[d] > 1) return true;
    }
    return false;
}

[[noreturn]] void refuse_write(const Call& call, size_t i, const std::string& why) {
    throw Error(Code::usage, call.op.name(), "writes \"" + call.op.schema().inputs[i].name + "\", " + why);
}

void check_writes(const Call& call) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
        if (!is_written(call, i)) continue;
        const Tensor& written = call.inputs[i];
        if (grad_mode && written.get().requires_grad) {
            refuse_write(call, i, "which requires a gradient; call it under NoGrad");
        }
        if (written.numel() > 0 && repeats_elements(written)) {
            refuse_write(call, i,
                         describe(written) + " with elements that share memory (expand); write into its clone");
        }
    }
}

void mark_writes(const Call& call) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
        if (is_written(call, i)) call.inputs[i].storage().wrote(call.op.name());
    }
}

Cost elementwise_cost(const Call& call, const Results& results) {
    const auto elements = static_cast<double>(numel(results.results[0].shape));
    Cost cost{elements, elements * static_cast<double>(size_of(results.results[0].dtype)), 0};
    for (const Tensor& input : call.inputs) {
        if (input.defined()) cost.bytes += static_cast<double>(input.numel() * size_of(input.dtype()));
    }
    return cost;
}

// Allocates and computes; the outputs are as many as the rule says.
void run(const Call& call, std::span<Tensor> outputs) {
    const Op& op = call.op;
    check_inputs(call);
    const Device device = call.device();
    check_devices(call, device);
    if (op.mutated_mask() != 0) check_writes(call);
    if (slots().distribute != nullptr && slots().distribute(call, outputs)) return;
    if (op.view_rule() != nullptr) {
        outputs[0] = op.view_rule()(call);
    } else {
        Results results;
        if (op.is_elementwise()) {
            elementwise_rule(call, results);
        } else {
            op.shape_rule()(call, results);
        }
        int64_t workspace = 0;
        if (cost_counter != nullptr || (op.cost_rule() != nullptr && device == Device::meta)) {
            const Cost cost = op.cost_rule() != nullptr ? op.cost_rule()(call, results)
                              : results.count > 0       ? elementwise_cost(call, results)
                                                        : Cost{};
            if (cost_counter != nullptr) cost_counter->add(cost);
            workspace = cost.workspace;
        }
        for (int i = 0; i < results.count; ++i) {
            const auto at = static_cast<size_t>(i);
            outputs[at] = Tensor(results.results[at].shape, results.results[at].dtype, device);
        }
        // On meta nobody takes the workspace: count it as if.
        const Tensor scratch =
            device == Device::meta && workspace > 0 ? Tensor({workspace}, DType::u8, device) : Tensor();
        run_kernel(call, device, outputs);
    }
    if (op.mutated_mask() != 0) mark_writes(call);
    if (slots().trace != nullptr) slots().trace(call, outputs);
    if (grad_mode && slots().record != nullptr && op.is_differentiable() && any_requires_grad(call.inputs)) {
        slots().record(call, outputs);
    }
}

size_t output_count(const Op& op) {
    return op.schema().outputs.size();
}

}  // namespace

Slots& slots() {
    static Slots the_slots;
    return the_slots;
}

Tensor dispatch(const Op& op, std::span<const Tensor> inputs, const Attributes& attributes) {
    const Call call{op, inputs, attributes};
    if (op.composite_rule() != nullptr) {
        std::vector<Tensor> outputs = op.composite_rule()(call);
        return outputs.empty() ? Tensor() : std::move(outputs[0]);
    }
    Tensor outputs[max_outputs];
    run(call, std::span(outputs, output_count(op)));
    return std::move(outputs[0]);
}

std::vector<Tensor> dispatch_all(const Op& op, std::span<const Tensor> inputs, const Attributes& attributes) {
    const Call call{op, inputs, attributes};
    if (op.composite_rule() != nullptr) return op.composite_rule()(call);
    std::vector<Tensor> outputs(output_count(op));
    run(call, outputs);
    return outputs;
}

bool grad_enabled() noexcept {
    return grad_mode;
}
GradMode::GradMode(bool on) noexcept : before_(std::exchange(grad_mode, on)) {}
GradMode::~GradMode() {
    grad_mode = before_;
}

Device default_device() noexcept {
    return creation_device;
}
DefaultDevice::DefaultDevice(Device device) noexcept : before_(std::exchange(creation_device, device)) {}
DefaultDevice::~DefaultDevice() {
    creation_device = before_;
}

CostCounter::CostCounter() noexcept : outer_(std::exchange(cost_counter, this)) {}
CostCounter::~CostCounter() {
    cost_counter = outer_;
}

void CostCounter::add(const Cost& cost) noexcept {
    total_.flops += cost.flops;
    total_.bytes += cost.bytes;
    ++calls_;
    if (outer_ != nullptr) outer_->add(cost);
}

ForceProvider::ForceProvider(std::string_view op, std::string_view provider) {
    const Op& entry = lookup(op);
    std::vector<std::string> names;
    for (const Provider& each : entry.providers(Device::cpu).list()) names.emplace_back(each.name);
    if (std::find(names.begin(), names.end(), provider) == names.end()) {
        throw Error(Code::usage, op,
                    "has no provider named \"" + std::string(provider) + "\"" + base::nearest_hint(provider, names));
    }
    forced_providers.push_back({&entry, std::string(provider)});
}

ForceProvider::~ForceProvider() {
    forced_providers.pop_back();
}

Tier minimum_tier() noexcept {
    return tier_floor;
}
void set_minimum_tier(Tier tier) noexcept {
    tier_floor = tier;
}

std::vector<ProviderUse> provider_uses() {
    std::vector<ProviderUse> uses;
    for (const Op& op : table().all()) {
        for (int d = 0; d < device_count; ++d) {
            const auto device = static_cast<Device>(d);
            for (const Provider& provider : op.providers(device).list()) {
                const uint64_t calls = provider.calls.load(std::memory_order_relaxed);
                if (calls == 0) continue;
                uses.push_back({op.name(), std::string(name_of(device)), provider.name, provider.tier, calls});
            }
        }
    }
    return uses;
}

}  // namespace tenon::ops
