// Every op with `.math`, and its gradients, onto the tile kernels printed from it; `cast`.
#include <memory>
#include <string_view>
#include <unordered_map>

#include "tenon/cpu/elementwise.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/ops/dispatch.h"
#include "tenon/ops/elementwise_rule.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

// Printed by tenon-opgen-kernels.
TENON_IN_EVERY_SET(const PackedKernel* packed_kernels(int64_t* count);)
const PackedKernel* packed_kernels_f64(int64_t* count);
const PackedKernel* packed_kernels_i64(int64_t* count);

namespace {

using ops::Call;
using ops::Op;

struct Kernels {
    TileKernel avx2 = nullptr, avx512 = nullptr, plain = nullptr;  // f32
    TileKernel f64 = nullptr;
    TileKernel i64 = nullptr;
    bool writes_mask = false;
    int reals = 0;
    std::unique_ptr<scalar::Evaluator> evaluator;

    TileKernel of(Compute compute) const {
        if (compute == Compute::f32) return select(avx2, avx512, plain);
        return compute == Compute::f64 ? f64 : i64;
    }
};

using Pack = std::unordered_map<std::string_view, TileKernel>;

Pack pack(const PackedKernel* (*list)(int64_t*)) {
    int64_t count = 0;
    const PackedKernel* kernels = list(&count);
    Pack result;
    for (int64_t i = 0; i < count; ++i) result[kernels[i].name] = kernels[i].run;
    return result;
}

// Filled once by register_elementwise, before any call; read-only from then on.
std::unordered_map<const Op*, Kernels>& kernels_by_op() {
    static std::unordered_map<const Op*, Kernels> map;
    return map;
}

// A comparison computes in the dtype that its operands meet in; everything else in that of its result.
Compute compute_of(const Call& call, const Tensor& out) {
    return compute_type(out.dtype() == DType::boolean ? ops::promoted_dtype(call.inputs) : out.dtype());
}

std::span<const double> reals_of(const Call& call, const Kernels& kernels) {
    return {call.attributes.reals.data(), static_cast<size_t>(kernels.reals)};
}

void run_tiles(const Call& call, std::span<Tensor> outputs) {
    const Kernels& kernels = kernels_by_op().find(&call.op)->second;
    const Compute compute = compute_of(call, outputs[0]);
    elementwise(kernels.of(compute), compute, call.inputs, reals_of(call, kernels), kernels.writes_mask, outputs[0]);
}

void run_reference(const Call& call, std::span<Tensor> outputs) {
    const Kernels& kernels = kernels_by_op().find(&call.op)->second;
    elementwise_reference(*kernels.evaluator, compute_of(call, outputs[0]), call.inputs, reals_of(call, kernels),
                          outputs[0]);
}

void run_cast(const Call& call, std::span<Tensor> outputs) {
    cast_elements(call.input(0), outputs[0]);
}

// What the call computes in, asked before its output exists: by the rule that gives its dtype.
Compute compute_before(const Call& call) {
    ops::Results results;
    ops::elementwise_rule(call, results);
    const DType out = results.results[0].dtype;
    return compute_type(out == DType::boolean ? ops::promoted_dtype(call.inputs) : out);
}

// Second derivatives have no printed kernel, and some math has no integer form.
ops::Reason has_kernel(const Call& call) {
    const Compute compute = compute_before(call);
    return kernels_by_op().find(&call.op)->second.of(compute) != nullptr ? ops::Reason::ok : ops::Reason::dtype;
}

// Functions in f64 are libm's, which keeps a lower tier: a provider of its own.
ops::Reason is_f64(const Call& call) {
    return compute_before(call) == Compute::f64 ? ops::Reason::ok : ops::Reason::dtype;
}
// The reference takes every dtype, but f64 only in a run that libm's bits are good enough for.
ops::Reason keeps_tier(const Call& call) {
    return ops::minimum_tier() <= ops::Tier::d2 || is_f64(call) != ops::Reason::ok ? ops::Reason::ok
                                                                                   : ops::Reason::dtype;
}
ops::Reason has_kernel_and_is_f64(const Call& call) {
    return is_f64(call) == ops::Reason::ok ? has_kernel(call) : ops::Reason::dtype;
}
ops::Reason has_kernel_and_is_not_f64(const Call& call) {
    return is_f64(call) == ops::Reason::ok ? ops::Reason::dtype : has_kernel(call);
}

bool uses_functions(scalar::Expr math) {
    for (const scalar::Node* node : scalar::topological_order(math)) {
        if (scalar::is_function(node->kind)) return true;
    }
    return false;
}

struct Packs {
    Pack avx2, avx512, plain, f64, i64;
};

TileKernel find(const Pack& pack, const Op& op) {
    const auto found = pack.find(op.name());
    return found == pack.end() ? nullptr : found->second;
}

void register_op(const Op& op, const Packs& packs, int derivatives) {
    Kernels kernels;
    kernels.avx2 = find(packs.avx2, op);
    kernels.avx512 = find(packs.avx512, op);
    kernels.plain = find(packs.plain, op);
    kernels.f64 = find(packs.f64, op);
    kernels.i64 = find(packs.i64, op);
    const scalar::Expr math = op.expression();
    kernels.writes_mask = math.is_mask();
    for (const ops::AttributeSchema& attribute : op.schema().attributes) {
        if (attribute.type == ops::AttributeType::real) ++kernels.reals;
    }
    kernels.evaluator = std::make_unique<scalar::Evaluator>(math);
    const bool everywhere = kernels.plain != nullptr && kernels.f64 != nullptr && kernels.i64 != nullptr;
    const bool somewhere = kernels.plain != nullptr || kernels.f64 != nullptr || kernels.i64 != nullptr;
    kernels_by_op()[&op] = std::move(kernels);
    ops::Providers& providers = op.providers(Device::cpu);
    if (!uses_functions(math)) {
        if (somewhere) providers.add("tiles", ops::Tier::d4, run_tiles, everywhere ? nullptr : has_kernel);
        providers.add("reference", ops::Tier::d4, run_reference);
    } else {
        if (somewhere) {
            providers.add("tiles", ops::Tier::d4, run_tiles, has_kernel_and_is_not_f64);
            providers.add("tiles_f64", ops::Tier::d2, run_tiles, has_kernel_and_is_f64);
        }
        providers.add("reference", ops::Tier::d4, run_reference, keeps_tier);
    }
    if (derivatives == 0 || !op.is_differentiable()) return;
    for (size_t i = 0; i < op.schema().inputs.size(); ++i)
        register_op(op.gradient(static_cast<int>(i)), packs, derivatives - 1);
}

}  // namespace

void register_elementwise() {
    const Packs packs{pack(avx2::packed_kernels), pack(avx512::packed_kernels), pack(plain::packed_kernels),
                      pack(packed_kernels_f64), pack(packed_kernels_i64)};
    for (const Op& op : ops::table().all()) {
        if (op.is_elementwise()) register_op(op, packs, 2);
    }
    ops::lookup("cast").providers(Device::cpu).add("tiles", ops::Tier::d4, run_cast);
}

}  // namespace tenon::cpu
