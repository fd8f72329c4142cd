// Inner loops on complex numbers.
#pragma once

#include <cmath>
#include <complex>

#include "kernels/elementwise/loops.h"

namespace genesis::kernels::GENESIS_ISA {

template <class T>
using C = std::complex<T>;

// Without the recovery of infinities that C prescribes, which would cost a call per element.
template <class T>
[[gnu::always_inline]] inline C<T> product(C<T> a, C<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Smith's method: no intermediate result overflows unless the quotient does.
template <class T>
[[gnu::always_inline]] inline C<T> quotient(C<T> a, C<T> b) {
  const T c = b.real(), d = b.imag();
  if (std::abs(c) >= std::abs(d)) {
    if (c == 0 && d == 0) return {a.real() / std::abs(c), a.imag() / std::abs(d)};
    const T ratio = d / c, scale = T(1) / (c + d * ratio);
    return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
  }
  const T ratio = c / d, scale = T(1) / (c * ratio + d);
  return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}

template <class T>
inline T magnitude(C<T> z) {
  if constexpr (sizeof(T) == 4) {
    const double re = z.real(), im = z.imag();
    const double squares = re * re + im * im;
    if (squares == squares) return static_cast<T>(std::sqrt(squares));
  }
  return std::hypot(z.real(), z.imag());
}

// F is a generic function of complex numbers.
template <auto F>
struct Function {
  template <class... Z>
  [[gnu::always_inline]] static auto apply(Z... z) {
    return F(z...);
  }
};

inline void require_complex(DType t) {
  if (!is_complex(t)) unsupported(t);
}

template <auto F>
void map_complex(View y, View x, int64_t grain = kLightGrain) {
  require_complex(y.dtype);
  elementwise({{y, y.dtype}, {x, y.dtype}},
              y.dtype == DType::Complex128 ? unary_loop<Function<F>, C<double>, C<double>>
                                           : unary_loop<Function<F>, C<float>, C<float>>,
              nullptr, grain);
}
template <auto F>
void zip_complex(View y, View a, View b, int64_t grain = kLightGrain) {
  require_complex(y.dtype);
  elementwise({{y, y.dtype}, {a, y.dtype}, {b, y.dtype}},
              y.dtype == DType::Complex128 ? binary_loop<Function<F>, C<double>, C<double>>
                                           : binary_loop<Function<F>, C<float>, C<float>>,
              nullptr, grain);
}
// A function from complex numbers to real ones.
template <auto F>
void map_to_real(View y, View x, int64_t grain = kLightGrain) {
  require_complex(x.dtype);
  elementwise({{y, real_type(x.dtype)}, {x, x.dtype}},
              x.dtype == DType::Complex128 ? unary_loop<Function<F>, C<double>, double>
                                           : unary_loop<Function<F>, C<float>, float>,
              nullptr, grain);
}

}  // namespace genesis::kernels::GENESIS_ISA
