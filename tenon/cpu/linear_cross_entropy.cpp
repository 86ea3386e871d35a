// Chunks of at most 512 rows: logits by one product, loss and gradients of the logits by rows, dx and dw by two more.
#include "tenon/cpu/linear_cross_entropy.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/cpu/access.h"
#include "tenon/cpu/convert.h"
#include "tenon/cpu/gemm.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/sets/linear_cross_entropy_tile.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/linear_cross_entropy.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(void cross_entropy_rows(const LogitRows& rows); float sum_of_losses(const float* losses, int64_t n);)

namespace {

constexpr int64_t kLogitsPerTile = 65536;

Element element_of(const Tensor& x) {
    return x.dtype() == DType::bf16 ? Element::bf16 : x.dtype() == DType::f16 ? Element::f16 : Element::f32;
}

char* at(const Tensor& x, int64_t offset) {
    return data<char>(x) + offset * size_of(x.dtype());
}

// Rows [first, first + rows) of the call.
struct Chunk {
    int64_t first, rows;
    float* logits;
    int64_t logit_row;
};

void logits(const LinearCrossEntropy& call, const Chunk& c) {
    Gemm g;
    g.m = c.rows, g.n = call.weight.size(0), g.k = call.x.size(1);
    g.a = at(call.x, c.first * call.x.strides()[0]), g.a_row = call.x.strides()[0], g.a_column = call.x.strides()[1];
    g.b = at(call.weight, 0), g.b_row = call.weight.strides()[1], g.b_column = call.weight.strides()[0];
    g.a_type = element_of(call.x), g.b_type = element_of(call.weight);
    g.c = c.logits, g.c_row = c.logit_row;
    gemm(g);
}

void gradients_of_x(const LinearCrossEntropy& call, const Chunk& c) {
    Gemm g;
    g.m = c.rows, g.n = call.x.size(1), g.k = call.weight.size(0);
    g.a = c.logits, g.a_row = c.logit_row, g.a_column = 1;
    g.b = at(call.weight, 0), g.b_row = call.weight.strides()[0], g.b_column = call.weight.strides()[1];
    g.b_type = element_of(call.weight), g.c_type = element_of(call.dx);
    g.c = at(call.dx, c.first * g.n), g.c_row = g.n;
    gemm(g);
}

// dw, or the f32 that it waits in, continues over the rows of all chunks.
void gradients_of_weight(const LinearCrossEntropy& call, const Chunk& c, float* waiting) {
    Gemm g;
    g.m = call.weight.size(0), g.n = call.x.size(1), g.k = c.rows;
    g.a = c.logits, g.a_row = 1, g.a_column = c.logit_row;
    g.b = at(call.x, c.first * call.x.strides()[0]), g.b_row = call.x.strides()[0], g.b_column = call.x.strides()[1];
    g.b_type = element_of(call.x);
    g.c = waiting != nullptr ? waiting : static_cast<void*>(at(call.dw, 0)), g.c_row = g.n;
    g.c_type = waiting != nullptr ? Element::f32 : element_of(call.dw);
    g.store = c.first == 0 ? Store::overwrite : Store::continue_chain;
    if (TENON_FAULT(loss_adds_chunks) && c.first > 0) g.store = Store::add;
    gemm(g);
}

void losses(const LinearCrossEntropy& call, const Chunk& c, double divisor, float* loss) {
    const int64_t vocabulary = call.weight.size(0), stride = call.target.strides()[0];
    const int64_t rows = std::max<int64_t>(1, kLogitsPerTile / std::max<int64_t>(1, vocabulary));
    parallel_for((c.rows + rows - 1) / rows, [&](int64_t tile) {
        const int64_t first = tile * rows;
        LogitRows r{};
        r.logits = c.logits + first * c.logit_row, r.row_stride = c.logit_row;
        r.rows = std::min(rows, c.rows - first), r.vocabulary = vocabulary;
        r.target = data<int64_t>(call.target) + (c.first + first) * stride, r.target_stride = stride;
        r.ignore_index = call.ignore_index;
        r.loss = loss + c.first + first;
        r.with_gradients = call.with_gradients, r.divisor_inverse = static_cast<float>(1 / divisor);
        TENON_SELECT(cross_entropy_rows)(r);
    });
}

}  // namespace

double resolve_divisor(const LinearCrossEntropy& call) {
    const int64_t vocabulary = call.weight.size(0);
    int64_t valid = 0;
    for (int64_t i = 0; i < call.target.numel(); ++i) {
        const int64_t target = data<int64_t>(call.target)[i * call.target.strides()[0]];
        if (target == call.ignore_index) continue;
        if (target < 0 || target >= vocabulary) {
            throw Error(Code::usage, "linear_cross_entropy",
                        "target[" + std::to_string(i) + "] is " + std::to_string(target) +
                            ", outside the vocabulary of " + std::to_string(vocabulary) + " (rows to leave out hold " +
                            std::to_string(call.ignore_index) + ")");
        }
        ++valid;
    }
    return call.divisor != 0 ? call.divisor : static_cast<double>(valid);
}

void linear_cross_entropy(LinearCrossEntropy& call) {
    const double divisor = resolve_divisor(call);
    const int64_t rows = call.x.size(0), logit_row = ops::logit_row(call.weight.size(0));
    const int64_t bytes = ops::linear_cross_entropy_workspace(call.x, call.weight, call.with_gradients);
    const int64_t waiting_bytes = ops::waiting_gradient_bytes(call.x, call.weight, call.with_gradients);
    const Tensor workspace = bytes > 0 ? Tensor({bytes}, DType::u8, Device::cpu) : Tensor();
    // Floats in 64-byte aligned memory; what waits comes first.
    float* memory = bytes > 0 ? reinterpret_cast<float*>(data<char>(workspace)) : nullptr;
    float* waiting = waiting_bytes > 0 ? memory : nullptr;
    std::vector<float> loss(static_cast<size_t>(rows));
    for (int64_t first = 0; first < rows; first += ops::kLogitRows) {
        const Chunk chunk{first, std::min(ops::kLogitRows, rows - first), memory + waiting_bytes / 4, logit_row};
        logits(call, chunk);
        losses(call, chunk, divisor, loss.data());
        if (!call.with_gradients) continue;
        gradients_of_x(call, chunk);
        gradients_of_weight(call, chunk, waiting);
    }
    if (call.with_gradients && rows == 0) {
        std::fill_n(data<char>(call.dw), call.dw.numel() * size_of(call.dw.dtype()), char{0});
    }
    if (waiting != nullptr) {
        convert_row(waiting, DType::f32, 1, data(call.dw), call.dw.dtype(), 1, call.dw.numel());
    }
    *data<float>(call.loss) = TENON_SELECT(sum_of_losses)(loss.data(), rows) / static_cast<float>(divisor);
}

}  // namespace tenon::cpu
