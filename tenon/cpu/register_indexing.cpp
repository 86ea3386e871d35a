// Kernels of ops/indexing.cpp.
#include "tenon/cpu/access.h"
#include "tenon/cpu/copy.h"
#include "tenon/cpu/index.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

namespace {

using ops::Call;

int64_t product(const Shape& shape, int64_t begin, int64_t end) {
    int64_t count = 1;
    for (int64_t d = begin; d < end; ++d) count *= shape[d];
    return count;
}

std::string dim_has(int64_t dim) {
    return "dim " + std::to_string(dim) + " has";
}

void embedding_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor weight = in_order(call.input(0));
    const IndexList indices(call.input(1), weight.shape()[0], "embedding", "weight has rows");
    select_slices(weight, indices, 1, weight.shape()[1], outputs[0]);
}

void embedding_backward_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor grad = in_order(call.input(0));
    const IndexList indices(call.input(1), call.integer(0), "embedding_backward", "weight has rows");
    add_slices({}, indices, grad, 1, outputs[0].shape()[1], outputs[0]);
}

void index_select_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor x = in_order(call.input(0));
    const int64_t dim = normalize_dim(call.integer(0), x.rank(), "index_select");
    const IndexList indices(call.input(1), x.shape()[dim], "index_select", dim_has(dim));
    select_slices(x, indices, product(x.shape(), 0, dim), product(x.shape(), dim + 1, x.rank()), outputs[0]);
}

void index_add_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor x = in_order(call.input(0));
    const Tensor values = in_order(call.input(2));
    const int64_t dim = normalize_dim(call.integer(0), x.rank(), "index_add");
    const IndexList indices(call.input(1), x.shape()[dim], "index_add", dim_has(dim));
    add_slices(x, indices, values, product(x.shape(), 0, dim), product(x.shape(), dim + 1, x.rank()), outputs[0]);
}

void gather_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor x = in_order(call.input(0));
    const int64_t dim = normalize_dim(call.integer(0), x.rank(), "gather");
    const IndexList index(call.input(1), x.rank() == 0 ? 1 : x.shape()[dim], "gather", dim_has(dim));
    gather_lines(x, index, dim, outputs[0]);
}

void scatter_add_kernel(const Call& call, std::span<Tensor> outputs) {
    const Tensor& x = call.input(0);
    const Tensor values = in_order(call.input(2));
    const int64_t dim = normalize_dim(call.integer(0), x.rank(), "scatter_add");
    const IndexList index(call.input(1), x.rank() == 0 ? 1 : x.shape()[dim], "scatter_add", dim_has(dim));
    copy_elements(x, outputs[0]);
    scatter_add_lines(index, values, dim, outputs[0]);
}

void one_hot_kernel(const Call& call, std::span<Tensor> outputs) {
    const IndexList indices(call.input(0), call.integer(0), "one_hot", "classes are");
    one_hot(indices, call.integer(0), data<int64_t>(outputs[0]));
}

void tril_kernel(const Call& call, std::span<Tensor> outputs) {
    copy_elements(call.input(0), outputs[0]);
    clear_outside(outputs[0], Triangle::lower, call.integer(0));
}

void triu_kernel(const Call& call, std::span<Tensor> outputs) {
    copy_elements(call.input(0), outputs[0]);
    clear_outside(outputs[0], Triangle::upper, call.integer(0));
}

}  // namespace

void register_indexing() {
    const auto reference = [](std::string_view op, ops::Kernel kernel) {
        ops::lookup(op).providers(Device::cpu).add("reference", ops::Tier::d4, kernel);
    };
    reference("embedding", embedding_kernel);
    reference("embedding_backward", embedding_backward_kernel);
    reference("index_select", index_select_kernel);
    reference("index_add", index_add_kernel);
    reference("gather", gather_kernel);
    reference("scatter_add", scatter_add_kernel);
    reference("one_hot", one_hot_kernel);
    reference("tril", tril_kernel);
    reference("triu", triu_kernel);
}

}  // namespace tenon::cpu
