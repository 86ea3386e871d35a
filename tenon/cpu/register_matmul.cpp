// Kernels of ops/matmul.cpp: tensors become strides, batches fold where memory allows, and gemm does the rest.
#include <algorithm>

#include "tenon/cpu/access.h"
#include "tenon/cpu/copy.h"
#include "tenon/cpu/gemm.h"
#include "tenon/cpu/numbers.h"
#include "tenon/ops/op.h"
#include "tenon/ops/table.h"

namespace tenon::cpu {

namespace {

using ops::Call;

// Batches of products with any number of batch dims. Offsets and strides count elements; a broadcast dim has stride 0.
struct Products {
    Dims batch;                      // sizes
    Dims a_batch, b_batch, c_batch;  // strides
    int64_t m = 0, n = 0, k = 0;
    int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0, c_row = 0;
};

// Strides of x's batch dims, seen under `batch`: missing and broadcast dims stand still.
Dims batch_strides(const Tensor& x, const Dims& batch) {
    Dims strides(batch.size(), 0);
    const int64_t missing = batch.size() - (x.rank() - 2);
    for (int64_t d = 0; d < x.rank() - 2; ++d) strides[missing + d] = x.shape()[d] == 1 ? 0 : x.strides()[d];
    return strides;
}

void drop_dim(Products& p, int64_t d) {
    for (Dims* dims : {&p.batch, &p.a_batch, &p.b_batch, &p.c_batch}) dims->erase(d);
}

// Leaves as few batch dims as memory allows: dims that lie one in another become one, and one matrix b for a whole
// batch makes the batch more rows of a.
void fold(Products& p) {
    for (int64_t d = p.batch.size() - 1; d >= 0; --d) {
        if (p.batch[d] == 1) drop_dim(p, d);
    }
    for (int64_t d = p.batch.size() - 2; d >= 0; --d) {
        const Dim inner = p.batch[d + 1];
        const auto nested = [&](const Dims& strides) { return strides[d] == inner * strides[d + 1]; };
        if (!nested(p.a_batch) || !nested(p.b_batch) || !nested(p.c_batch)) continue;
        p.batch[d + 1] *= p.batch[d];
        drop_dim(p, d);
    }
    while (!p.batch.empty()) {
        const int64_t d = p.batch.size() - 1;
        const bool rows_go_on =
            (p.m == 1 || p.a_batch[d] == p.m * p.a_row) && (p.m == 1 || p.c_batch[d] == p.m * p.c_row);
        if (p.b_batch[d] != 0 || !rows_go_on) break;
        if (p.m == 1) p.a_row = p.a_batch[d], p.c_row = p.c_batch[d];
        p.m *= p.batch[d];
        drop_dim(p, d);
    }
}

// Calls run(batch, a, b, c): how many products lie evenly apart, and the offset of the first of them.
template <typename Run>
void for_each_batch(const Products& p, Run run) {
    if (std::find(p.batch.begin(), p.batch.end(), 0) != p.batch.end()) return;
    const int64_t outer = p.batch.size() - 1;  // the innermost batch dim goes into one call
    Dims index(std::max<int64_t>(outer, 0), 0);
    for (;;) {
        int64_t a = 0, b = 0, c = 0;
        for (int64_t d = 0; d < outer; ++d) {
            a += index[d] * p.a_batch[d];
            b += index[d] * p.b_batch[d];
            c += index[d] * p.c_batch[d];
        }
        run(a, b, c);
        int64_t d = outer - 1;
        while (d >= 0 && ++index[d] == p.batch[d]) index[d--] = 0;
        if (d < 0) return;
    }
}

// A product of one element type as gemm's arguments; T is what the pointers point to.
template <class Arguments, typename T>
Arguments arguments(const Products& p, const T* a, const T* b, T* c) {
    Arguments g;
    g.m = p.m, g.n = p.n, g.k = p.k;
    g.a = a, g.a_row = p.a_row, g.a_column = p.a_column;
    g.b = b, g.b_row = p.b_row, g.b_column = p.b_column;
    g.c = c, g.c_row = p.c_row;
    if (!p.batch.empty()) {
        const int64_t d = p.batch.size() - 1;
        g.batch = p.batch[d];
        g.a_batch = p.a_batch[d], g.b_batch = p.b_batch[d], g.c_batch = p.c_batch[d];
    }
    return g;
}

Element element_of(DType dtype) {
    if (dtype == DType::bf16) return Element::bf16;
    return dtype == DType::f16 ? Element::f16 : Element::f32;
}

template <auto run, typename T>
void multiply_floats(const Products& p, const Tensor& a, const Tensor& b, const Tensor& c, const float* bias) {
    for_each_batch(p, [&](int64_t a_at, int64_t b_at, int64_t c_at) {
        auto g = arguments<Gemm, T>(p, data<T>(a) + a_at, data<T>(b) + b_at, data<T>(c) + c_at);
        g.a_type = g.b_type = g.c_type = element_of(a.dtype());
        g.bias = bias;
        run(g);
    });
}

// f32 and the 16-bit floats, by the fast kernel or by the plain loops.
template <auto run>
void multiply_floats(const Products& p, const Tensor& a, const Tensor& b, const Tensor& c,
                     const float* bias = nullptr) {
    if (a.dtype() == DType::f32) return multiply_floats<run, float>(p, a, b, c, bias);
    multiply_floats<run, uint16_t>(p, a, b, c, bias);
}

template <typename T>
void multiply_plain(const Products& p, const Tensor& a, const Tensor& b, const Tensor& c) {
    for_each_batch(p, [&](int64_t a_at, int64_t b_at, int64_t c_at) {
        gemm_reference(arguments<PlainGemm<T>, T>(p, data<T>(a) + a_at, data<T>(b) + b_at, data<T>(c) + c_at));
    });
}

// Every dtype that has products.
void multiply_reference(const Products& p, const Tensor& a, const Tensor& b, const Tensor& c,
                        const float* bias = nullptr) {
    switch (a.dtype()) {
        case DType::f64:
            return multiply_plain<double>(p, a, b, c);
        case DType::i64:
            return multiply_plain<int64_t>(p, a, b, c);
        case DType::i32:
            return multiply_plain<int32_t>(p, a, b, c);
        case DType::u8:
            return multiply_plain<uint8_t>(p, a, b, c);
        default:
            return multiply_floats<static_cast<void (*)(const Gemm&)>(gemm_reference)>(p, a, b, c, bias);
    }
}

Products products_of(const Tensor& a, const Tensor& b, const Tensor& c) {
    Products p;
    p.batch = c.shape();
    p.batch.resize(c.rank() - 2);
    p.a_batch = batch_strides(a, p.batch);
    p.b_batch = batch_strides(b, p.batch);
    p.c_batch = batch_strides(c, p.batch);
    const int64_t ra = a.rank(), rb = b.rank(), rc = c.rank();
    p.m = c.shape()[rc - 2], p.n = c.shape()[rc - 1], p.k = a.shape()[ra - 1];
    p.a_row = a.strides()[ra - 2], p.a_column = a.strides()[ra - 1];
    p.b_row = b.strides()[rb - 2], p.b_column = b.strides()[rb - 1];
    p.c_row = c.strides()[rc - 2];
    fold(p);
    return p;
}

void bmm(const Call& call, std::span<Tensor> outputs) {
    multiply_floats<gemm>(products_of(call.input(0), call.input(1), outputs[0]), call.input(0), call.input(1),
                          outputs[0]);
}
void bmm_reference(const Call& call, std::span<Tensor> outputs) {
    multiply_reference(products_of(call.input(0), call.input(1), outputs[0]), call.input(0), call.input(1), outputs[0]);
}

// x [..., in] times weight^T: leading dims of x are batch dims of one row each, which fold into rows.
Products linear_products(const Tensor& x, const Tensor& weight, const Tensor& y) {
    Products p;
    p.m = 1, p.n = weight.shape()[0], p.k = weight.shape()[1];
    const int64_t last = x.rank() - 1;
    p.batch = x.shape(), p.a_batch = x.strides(), p.c_batch = y.strides();
    for (Dims* dims : {&p.batch, &p.a_batch, &p.c_batch}) dims->resize(last);
    p.b_batch = Dims(last, 0);
    p.a_column = x.strides()[last];
    p.b_row = weight.strides()[1], p.b_column = weight.strides()[0];
    fold(p);
    return p;
}

// y += bias, row by row.
void add_bias(const Tensor& bias, const Tensor& y) {
    with_number(y.dtype(), "linear", [&](auto number) {
        using Number = decltype(number);
        using Stored = typename Number::Stored;
        const Stored* add = data<Stored>(bias);
        const int64_t columns = bias.shape()[0], stride = bias.strides()[0], count = y.numel();
        Stored* to = data<Stored>(y);
        for (int64_t i = 0; i < count; i += columns) {
            for (int64_t j = 0; j < columns; ++j) {
                to[i + j] = Number::store(Number::load(to[i + j]) + Number::load(add[j * stride]));
            }
        }
    });
}

ops::Reason takes_floats(const Call& call) {
    const DType dtype = call.input(0).dtype();
    const bool fast = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
    return fast ? ops::Reason::ok : ops::Reason::dtype;
}

// The bias as a row of f32, which the products of f32 and 16-bit floats add before they round.
class BiasRow {
public:
    BiasRow(const Call& call) {
        if (!call.has(2)) return;
        row_ = call.input(2);
        if (row_.dtype() == DType::f32 && row_.is_contiguous()) return;
        row_ = Tensor(row_.shape(), DType::f32, Device::cpu);
        copy_elements(call.input(2), row_);
    }
    const float* data() const { return row_.defined() ? cpu::data<float>(row_) : nullptr; }

private:
    Tensor row_;
};

void linear(const Call& call, std::span<Tensor> outputs) {
    const Tensor &x = call.input(0), &weight = call.input(1), &y = outputs[0];
    const BiasRow bias(call);
    multiply_floats<gemm>(linear_products(x, weight, y), x, weight, y, bias.data());
}
void linear_reference(const Call& call, std::span<Tensor> outputs) {
    const Tensor &x = call.input(0), &weight = call.input(1), &y = outputs[0];
    if (takes_floats(call) == ops::Reason::ok) {
        const BiasRow bias(call);
        return multiply_reference(linear_products(x, weight, y), x, weight, y, bias.data());
    }
    multiply_reference(linear_products(x, weight, y), x, weight, y);
    if (call.has(2)) add_bias(call.input(2), y);
}

}  // namespace

void register_matmul() {
    ops::Providers& products = ops::lookup("bmm").providers(Device::cpu);
    products.add("packed", ops::Tier::d4, bmm, takes_floats);
    products.add("reference", ops::Tier::d4, bmm_reference);
    ops::Providers& linears = ops::lookup("linear").providers(Device::cpu);
    linears.add("packed", ops::Tier::d4, linear, takes_floats);
    linears.add("reference", ops::Tier::d4, linear_reference);
}

}  // namespace tenon::cpu
