// Kernels of ops/attention.cpp.
#include "tenon/cpu/attention.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

namespace {

using ops::Call;
using ops::Reason;

// The arguments of attention_forward and attention_backward, whose q stands at `q` among the inputs.
AttentionCall attention_call(const Call& call, int q, int starts) {
    AttentionCall a;
    a.size = ops::attention_sizes(call.input(q), call.input(q + 1));
    a.causal = call.boolean(0);
    a.scale = ops::attention_scale(call.real(0), a.size.head_dim);
    a.dropout_p = call.real(1);
    a.draw = {static_cast<uint64_t>(call.integer(1)), static_cast<uint32_t>(call.integer(2)),
              static_cast<uint32_t>(call.integer(3))};
    if (call.has(starts)) a.document_starts = call.input(starts);
    return a;
}

AttentionCall cached_call(const Call& call) {
    AttentionCall a;
    const Tensor &q = call.input(0), &cache = call.input(1);
    a.size = {q.size(0), q.size(1), cache.size(1), q.size(2), call.integer(0), q.size(3)};
    a.causal = call.boolean(1);
    a.scale = ops::attention_scale(call.real(0), a.size.head_dim);
    return a;
}

// Products with no terms, and sums over rows so long that they have several blocks, are left to the plain loops.
bool has_fast_width(const Tensor& q) {
    return q.size(3) > 0 && q.size(3) <= 4096;
}

Reason supports_forward(const Call& call) {
    if (call.input(0).dtype() == DType::f64) return Reason::dtype;
    return has_fast_width(call.input(0)) ? Reason::ok : Reason::shape;
}

Reason supports_backward(const Call& call) {
    if (call.input(1).dtype() == DType::f64) return Reason::dtype;
    if (call.input(5).dtype() != DType::f32 || (call.has(7) && call.input(7).dtype() != DType::f32)) {
        return Reason::dtype;
    }
    if (!call.input(5).is_contiguous()) return Reason::layout;
    return has_fast_width(call.input(1)) ? Reason::ok : Reason::shape;
}

Reason supports_cached(const Call& call) {
    if (call.input(0).dtype() != DType::f32) return Reason::dtype;
    if (!call.input(1).is_contiguous() || !call.input(2).is_contiguous()) return Reason::layout;
    return has_fast_width(call.input(0)) ? Reason::ok : Reason::shape;
}

template <auto kernel>
void forward(const Call& call, std::span<Tensor> outputs) {
    kernel(attention_call(call, 0, 3), call.input(0), call.input(1), call.input(2), outputs[0], outputs[1]);
}

template <auto kernel>
void backward(const Call& call, std::span<Tensor> outputs) {
    AttentionGradient g{call.input(0),
                        call.input(1),
                        call.input(2),
                        call.input(3),
                        call.input(4),
                        call.input(5),
                        call.has(7) ? call.input(7) : Tensor(),
                        outputs[0],
                        outputs[1],
                        outputs[2]};
    kernel(attention_call(call, 1, 6), g);
}

void cached(const Call& call, std::span<Tensor> outputs) {
    attention_cached(cached_call(call), call.input(0), call.input(1), call.input(2), outputs[0]);
}

void cached_reference(const Call& call, std::span<Tensor> outputs) {
    const Tensor& q = call.input(0);
    Tensor lse({q.size(0), q.size(1), q.size(2)}, q.dtype() == DType::f64 ? DType::f64 : DType::f32, Device::cpu);
    attention_forward_reference(cached_call(call), q, keys_in_cache(call.input(1), call.integer(0)),
                                values_in_cache(call.input(2), call.integer(0), q.size(3)), outputs[0], lse);
}

}  // namespace

void register_attention() {
    const auto add = [](const char* op, ops::Kernel tiled, ops::Supports supports, ops::Kernel reference) {
        ops::Providers& providers = ops::lookup(op).providers(Device::cpu);
        if (tiled != nullptr) providers.add("tiled", ops::Tier::d4, tiled, supports);
        providers.add("reference", ops::Tier::d4, reference);
    };
    add("attention_forward", forward<attention_forward>, supports_forward, forward<attention_forward_reference>);
    add("attention_backward", backward<attention_backward>, supports_backward, backward<attention_backward_reference>);
    add("attention_cached", cached, supports_cached, cached_reference);
    add("kv_append", nullptr, nullptr, [](const Call& call, std::span<Tensor>) {
        kv_append(call.input(0), call.input(1), call.input(2), call.input(3), call.integer(0));
    });
}

}  // namespace tenon::cpu
