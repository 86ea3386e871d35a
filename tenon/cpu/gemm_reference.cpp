// The matrix product as plain loops: what gemm means, and the path of the types that have no other.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tenon/cpu/gemm.h"
#include "tenon/cpu/half.h"

namespace tenon::cpu {

namespace {

float read(const void* base, Element type, int64_t at) {
    if (type == Element::f32) return static_cast<const float*>(base)[at];
    const uint16_t bits = static_cast<const uint16_t*>(base)[at];
    return type == Element::bf16 ? bf16_to_float(bits) : f16_to_float(bits);
}

void write(void* base, Element type, int64_t at, float value) {
    if (type == Element::f32) {
        static_cast<float*>(base)[at] = value;
    } else {
        static_cast<uint16_t*>(base)[at] = type == Element::bf16 ? float_to_bf16(value) : float_to_f16(value);
    }
}

}  // namespace

void gemm_reference(const Gemm& g) {
    for (int64_t batch = 0; batch < g.batch; ++batch) {
        for (int64_t i = 0; i < g.m; ++i) {
            for (int64_t j = 0; j < g.n; ++j) {
                const int64_t at = batch * g.c_batch + i * g.c_row + j;
                float sum = g.store == Store::continue_chain ? read(g.c, g.c_type, at) : 0.0f;
                for (int64_t k = 0; k < g.k; ++k) {
                    const float a = read(g.a, g.a_type, batch * g.a_batch + i * g.a_row + k * g.a_column);
                    const float b = read(g.b, g.b_type, batch * g.b_batch + k * g.b_row + j * g.b_column);
                    sum = std::fma(a, b, sum);
                }
                if (g.bias != nullptr) sum += g.bias[j];
                write(g.c, g.c_type, at, g.store == Store::add ? read(g.c, g.c_type, at) + sum : sum);
            }
        }
    }
}

template <class T>
void gemm_reference(const PlainGemm<T>& g) {
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;  // unsigned: overflow wraps
    for (int64_t batch = 0; batch < g.batch; ++batch) {
        for (int64_t i = 0; i < g.m; ++i) {
            for (int64_t j = 0; j < g.n; ++j) {
                T& c = g.c[batch * g.c_batch + i * g.c_row + j];
                Sum sum = g.store == Store::continue_chain ? static_cast<Sum>(c) : Sum{0};
                for (int64_t k = 0; k < g.k; ++k) {
                    const auto a = static_cast<Sum>(g.a[batch * g.a_batch + i * g.a_row + k * g.a_column]);
                    const auto b = static_cast<Sum>(g.b[batch * g.b_batch + k * g.b_row + j * g.b_column]);
                    if constexpr (std::is_floating_point_v<T>) {
                        sum = std::fma(a, b, sum);
                    } else {
                        sum += a * b;
                    }
                }
                c = static_cast<T>(g.store == Store::add ? static_cast<Sum>(c) + sum : sum);
            }
        }
    }
}

template void gemm_reference(const PlainGemm<double>&);
template void gemm_reference(const PlainGemm<int64_t>&);
template void gemm_reference(const PlainGemm<int32_t>&);
template void gemm_reference(const PlainGemm<uint8_t>&);

}  // namespace tenon::cpu
