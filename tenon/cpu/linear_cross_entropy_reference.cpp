// linear_cross_entropy as plain loops over one number type.
#include <limits>
#include <vector>

#include "tenon/cpu/access.h"
#include "tenon/cpu/attention_numbers.h"
#include "tenon/cpu/linear_cross_entropy.h"
#include "tenon/cpu/reference_sum.h"
#include "tenon/cpu/reference_values.h"

namespace tenon::cpu {

namespace {

template <class T>
void run(LinearCrossEntropy& call) {
    const double divisor = resolve_divisor(call);
    const T inverse = static_cast<T>(1 / divisor);
    const int64_t rows = call.x.size(0), features = call.x.size(1), vocabulary = call.weight.size(0);
    const std::vector<T> x = reference_values<T>(call.x), weight = reference_values<T>(call.weight);
    std::vector<T> z(static_cast<size_t>(rows * vocabulary)), loss(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t target = data<int64_t>(call.target)[i * call.target.strides()[0]];
        T* row = z.data() + i * vocabulary;
        if (target == call.ignore_index) continue;  // loss and gradients stay +0
        T m = -std::numeric_limits<T>::infinity();
        for (int64_t j = 0; j < vocabulary; ++j) {
            row[j] = numbers::chain(x.data() + i * features, 1, weight.data() + j * features, 1, features);
            m = numbers::maximum(m, row[j]);
        }
        const T l = reference_sum<T>(vocabulary, [&](int64_t j) { return numbers::exp(row[j] - m); });
        const T lse = m + numbers::log(l);
        loss[static_cast<size_t>(i)] = lse - row[target];
        for (int64_t j = 0; j < vocabulary; ++j) {
            row[j] = (numbers::exp(row[j] - lse) - (j == target ? T(1) : T(0))) * inverse;
        }
    }
    std::vector<T> total = {reference_sum<T>(rows, [&](int64_t i) { return loss[static_cast<size_t>(i)]; }) /
                            static_cast<T>(divisor)};
    store_reference(call.loss, total);
    if (!call.with_gradients) return;
    std::vector<T> dx(x.size()), dw(weight.size());
    for (size_t at = 0; at < dx.size(); ++at) {
        const int64_t i = static_cast<int64_t>(at) / features, c = static_cast<int64_t>(at) % features;
        dx[at] = numbers::chain(z.data() + i * vocabulary, 1, weight.data() + c, features, vocabulary);
    }
    for (size_t at = 0; at < dw.size(); ++at) {
        const int64_t j = static_cast<int64_t>(at) / features, c = static_cast<int64_t>(at) % features;
        dw[at] = numbers::chain(z.data() + j, vocabulary, x.data() + c, features, rows);
    }
    store_reference(call.dx, dx);
    store_reference(call.dw, dw);
}

}  // namespace

void linear_cross_entropy_reference(LinearCrossEntropy& call) {
    with_real(call.x.dtype(), [&](auto real) { run<decltype(real)>(call); });
}

}  // namespace tenon::cpu
