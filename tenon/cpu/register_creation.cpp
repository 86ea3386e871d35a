// Kernels of ops/creation.cpp: constants, sequences and copies.
#include "tenon/core/dims.h"
#include "tenon/cpu/access.h"
#include "tenon/cpu/copy.h"
#include "tenon/cpu/fill.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

namespace {

using ops::Call;

void full_kernel(const Call& call, std::span<Tensor> outputs) {
    fill(data(outputs[0]), outputs[0].dtype(), outputs[0].numel(), call.real(0));
}

void arange_kernel(const Call& call, std::span<Tensor> outputs) {
    fill_sequence(data(outputs[0]), outputs[0].dtype(), outputs[0].numel(), call.real(0), call.real(2));
}

void clone_kernel(const Call& call, std::span<Tensor> outputs) {
    copy_elements(call.input(0), outputs[0]);
}

void cat_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor& whole = outputs[0];
    const int64_t dim = normalize_dim(call.integer(0), whole.rank(), "cat");
    Strided to = strided(whole);
    int64_t start = 0;
    for (const Tensor& part : call.inputs) {
        to.data = data<char>(whole) + start * whole.strides()[dim] * size_of(whole.dtype());
        copy_strided(part.shape(), strided(part), to);
        start += part.shape()[dim];
    }
}

void assign_kernel(const Call& call, std::span<Tensor>) {
    const Tensor& x = call.input(0);
    Tensor values = call.input(1);
    // x.assign(a view of x) reads what it writes: from a copy, then.
    if (&values.storage() == &x.storage()) {
        values = Tensor(values.shape(), values.dtype(), Device::cpu);
        copy_elements(call.input(1), values);
    }
    Strided from = strided(values);
    // Broadcasting: missing dims and dims of size 1 are repeated by a stride of 0.
    const int64_t extra = x.rank() - values.rank();
    from.strides = Dims(x.rank(), 0);
    for (int64_t d = 0; d < values.rank(); ++d) {
        if (values.shape()[d] != 1) from.strides[d + extra] = values.strides()[d];
    }
    copy_strided(x.shape(), from, strided(x));
}

}  // namespace

void register_creation() {
    const auto reference = [](std::string_view op, ops::Kernel kernel) {
        ops::lookup(op).providers(Device::cpu).add("reference", ops::Tier::d4, kernel);
    };
    reference("full", full_kernel);
    reference("arange", arange_kernel);
    reference("clone", clone_kernel);
    reference("cat", cat_kernel);
    reference("assign", assign_kernel);
}

}  // namespace tenon::cpu
