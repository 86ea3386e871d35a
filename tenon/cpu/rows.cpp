#include "tenon/cpu/rows.h"

#include "tenon/cpu/access.h"
#include "tenon/cpu/numbers.h"
#include "tenon/cpu/reductions.h"

namespace tenon::cpu {

Rows::Rows(const Tensor& x, int64_t dim) : first_(data<char>(x)), element_size_(size_of(x.dtype())) {
    const ReductionPlan plan = reduction_plan(x, {dim});
    count_ = plan.outputs;
    length_ = plan.n;
    // A dim of size 1 is not in the plan; its stride says nothing.
    step_ = plan.reduced.empty() ? 1 : plan.reduced_strides[0];
    shape_ = plan.kept;
    strides_ = plan.kept_strides;
}

void* Rows::row(int64_t row) const {
    int64_t offset = 0;
    for (int64_t d = shape_.size() - 1; d >= 0; --d) {
        offset += row % shape_[d] * strides_[d];
        row /= shape_[d];
    }
    return first_ + offset * element_size_;
}

void Rows::gather(int64_t row, void* to) const {
    with_bits(element_size_ == 2 ? DType::bf16 : DType::f32, [&](auto bits) {
        using Word = decltype(bits);
        const auto* from = static_cast<const Word*>(this->row(row));
        auto* adjacent = static_cast<Word*>(to);
        for (int64_t i = 0; i < length_; ++i) adjacent[i] = from[i * step_];
    });
}

void Rows::scatter(const void* from, int64_t row) const {
    with_bits(element_size_ == 2 ? DType::bf16 : DType::f32, [&](auto bits) {
        using Word = decltype(bits);
        auto* to = static_cast<Word*>(this->row(row));
        const auto* adjacent = static_cast<const Word*>(from);
        for (int64_t i = 0; i < length_; ++i) to[i * step_] = adjacent[i];
    });
}

}  // namespace tenon::cpu
