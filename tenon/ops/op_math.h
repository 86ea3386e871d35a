// How an entry's lambda over named expressions becomes math over a list. Included by op.h only.
#pragma once

#include <type_traits>
#include <utility>

namespace tenon::ops {

namespace detail {

template <typename F>
struct Arity : Arity<decltype(&F::operator())> {};
template <typename C, typename R, typename... A>
struct Arity<R (C::*)(A...) const> {
    static constexpr size_t value = sizeof...(A);
};

}  // namespace detail

template <typename F, size_t... I>
Op::Math Op::spread(F f, std::index_sequence<I...>) {
    return [f](std::span<const Expr> arguments) -> Expr { return f(arguments[I]...); };
}

template <typename F>
Op& Op::math(F f) {
    constexpr size_t arity = detail::Arity<F>::value;
    set_math(spread(f, std::make_index_sequence<arity>{}), static_cast<int>(arity));
    return *this;
}

template <typename F>
Op& Op::slope(int input, F f) {
    slopes_[static_cast<size_t>(input)] = spread(f, std::make_index_sequence<detail::Arity<F>::value>{});
    return *this;
}

}  // namespace tenon::ops
