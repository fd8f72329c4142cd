#include <numbers>

#include "core/parallel.h"
#include "kernels/complex/complex.h"
#include "kernels/complex/loops.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

template <class T>
C<T> expm1(C<T> z) {
  const T half = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half, std::exp(z.real()) * std::sin(z.imag())};
}

// Computes the logarithm of |1 + z| from |1 + z|^2 - 1, which is exact for small z.
template <class T>
C<T> log1p(C<T> z) {
  const T x = z.real(), y = z.imag();
  if (std::abs(x) > T(0.5) || std::abs(y) > T(0.5)) return std::log(C<T>(1 + x, y));
  return {T(0.5) * std::log1p(x * (2 + x) + y * y), std::atan2(y, 1 + x)};
}

template <class T>
C<T> integer_power(C<T> z, int n) {
  C<T> result(1);
  for (unsigned rest = static_cast<unsigned>(n < 0 ? -n : n); rest; rest >>= 1) {
    if (rest & 1) result = product(result, z);
    z = product(z, z);
  }
  return n < 0 ? quotient(C<T>(1), result) : result;
}

template <class T>
C<T> power(C<T> z, C<T> w) {
  if (w == C<T>(0)) return T(1);
  if (w.imag() == 0 && std::abs(w.real()) <= 64 && w.real() == std::trunc(w.real()))
    return integer_power(z, static_cast<int>(w.real()));
  if (z == C<T>(0) && w.real() > 0) return T(0);
  return std::pow(z, w);
}

// y[i] = step(y[i - 1], i-th position) along a dimension, from the end if `reverse`, with y[-1] = `start`. `step`
// receives the offsets of the i-th elements of a and b.
template <class T, class Step>
void scan(View y, View a, View b, int dim, bool reverse, C<double> start, Step step) {
  const int64_t n = y.ndim == 0 ? 1 : y.shape[dim];
  if (n == 0) return;
  const auto stride = [&](const View& v) { return v.ndim == 0 ? int64_t{0} : v.strides[dim]; };
  parallel_for(y.numel() / n, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      int64_t rest = line, at_y = 0, at_a = 0, at_b = 0;
      for (int d = y.ndim - 1; d >= 0; --d) {
        if (d == dim) continue;
        const int64_t i = rest % y.shape[d];
        rest /= y.shape[d];
        at_y += i * y.strides[d];
        at_a += i * a.strides[d];
        at_b += i * b.strides[d];
      }
      C<double> state = start;
      for (int64_t k = 0; k < n; ++k) {
        const int64_t i = reverse ? n - 1 - k : k;
        state =
            step(state, C<double>(a.as<C<T>>()[at_a + i * stride(a)]), C<double>(b.as<C<T>>()[at_b + i * stride(b)]));
        y.as<C<T>>()[at_y + i * stride(y)] = C<T>(state);
      }
    }
  });
}

template <class Step>
void scan_in(View y, View a, View b, int dim, bool reverse, C<double> start, Step step) {
  if (y.dtype == DType::Complex128) scan<double>(y, a, b, dim, reverse, start, step);
  else scan<float>(y, a, b, dim, reverse, start, step);
}

}  // namespace

void complex_pow(View y, View a, View b) {
  zip_complex<[](auto a, auto b) { return power(a, b); }>(y, a, b, kHeavyGrain / 4);
}
void complex_angle(View y, View x) {
  map_to_real<[](auto z) { return std::atan2(z.imag(), z.real()); }>(y, x, kHeavyGrain / 4);
}
void complex_reciprocal(View y, View x) {
  map_complex<[](auto z) { return quotient(decltype(z)(1), z); }>(y, x);
}
void complex_sgn(View y, View x) {
  map_complex<[](auto z) {
    const auto size = magnitude(z);
    return size == 0 ? decltype(z)(0) : z / size;
  }>(y, x);
}
void complex_exp(View y, View x) {
  map_complex<[](auto z) { return std::exp(z); }>(y, x, kHeavyGrain / 4);
}
void complex_exp2(View y, View x) {
  map_complex<[]<class T>(C<T> z) { return std::exp(z * std::numbers::ln2_v<T>); }>(y, x, kHeavyGrain / 4);
}
void complex_expm1(View y, View x) {
  map_complex<[](auto z) { return expm1(z); }>(y, x, kHeavyGrain / 4);
}
void complex_log(View y, View x) {
  map_complex<[](auto z) { return std::log(z); }>(y, x, kHeavyGrain / 4);
}
void complex_log2(View y, View x) {
  map_complex<[]<class T>(C<T> z) { return std::log(z) / std::numbers::ln2_v<T>; }>(y, x, kHeavyGrain / 4);
}
void complex_log10(View y, View x) {
  map_complex<[](auto z) { return std::log10(z); }>(y, x, kHeavyGrain / 4);
}
void complex_log1p(View y, View x) {
  map_complex<[](auto z) { return log1p(z); }>(y, x, kHeavyGrain / 4);
}
void complex_sqrt(View y, View x) {
  map_complex<[](auto z) { return std::sqrt(z); }>(y, x, kHeavyGrain / 4);
}
void complex_rsqrt(View y, View x) {
  map_complex<[](auto z) { return quotient(decltype(z)(1), std::sqrt(z)); }>(y, x, kHeavyGrain / 4);
}
void complex_sigmoid(View y, View x) {
  map_complex<[](auto z) {
    using Z = decltype(z);
    return quotient(Z(1), Z(1) + std::exp(-z));
  }>(y, x, kHeavyGrain / 4);
}
void complex_sin(View y, View x) {
  map_complex<[](auto z) { return std::sin(z); }>(y, x, kHeavyGrain / 4);
}
void complex_cos(View y, View x) {
  map_complex<[](auto z) { return std::cos(z); }>(y, x, kHeavyGrain / 4);
}
void complex_tan(View y, View x) {
  map_complex<[](auto z) { return std::tan(z); }>(y, x, kHeavyGrain / 4);
}
void complex_asin(View y, View x) {
  map_complex<[](auto z) { return std::asin(z); }>(y, x, kHeavyGrain / 4);
}
void complex_acos(View y, View x) {
  map_complex<[](auto z) { return std::acos(z); }>(y, x, kHeavyGrain / 4);
}
void complex_atan(View y, View x) {
  map_complex<[](auto z) { return std::atan(z); }>(y, x, kHeavyGrain / 4);
}
void complex_sinh(View y, View x) {
  map_complex<[](auto z) { return std::sinh(z); }>(y, x, kHeavyGrain / 4);
}
void complex_cosh(View y, View x) {
  map_complex<[](auto z) { return std::cosh(z); }>(y, x, kHeavyGrain / 4);
}
void complex_tanh(View y, View x) {
  map_complex<[](auto z) { return std::tanh(z); }>(y, x, kHeavyGrain / 4);
}
void complex_asinh(View y, View x) {
  map_complex<[](auto z) { return std::asinh(z); }>(y, x, kHeavyGrain / 4);
}
void complex_acosh(View y, View x) {
  map_complex<[](auto z) { return std::acosh(z); }>(y, x, kHeavyGrain / 4);
}
void complex_atanh(View y, View x) {
  map_complex<[](auto z) { return std::atanh(z); }>(y, x, kHeavyGrain / 4);
}
void complex_cumprod(View y, View x, int dim, bool reverse) {
  scan_in(y, x, x, dim, reverse, 1, [](C<double> state, C<double> x, C<double>) { return product(state, x); });
}
void complex_linear_scan(View y, View a, View b, int dim, bool reverse) {
  scan_in(y, a, b, dim, reverse, 0, [](C<double> state, C<double> a, C<double> b) { return b + product(a, state); });
}
GENESIS_KERNEL(complex_pow)
GENESIS_KERNEL(complex_angle)
GENESIS_KERNEL(complex_reciprocal)
GENESIS_KERNEL(complex_sgn)
GENESIS_KERNEL(complex_exp)
GENESIS_KERNEL(complex_exp2)
GENESIS_KERNEL(complex_expm1)
GENESIS_KERNEL(complex_log)
GENESIS_KERNEL(complex_log2)
GENESIS_KERNEL(complex_log10)
GENESIS_KERNEL(complex_log1p)
GENESIS_KERNEL(complex_sqrt)
GENESIS_KERNEL(complex_rsqrt)
GENESIS_KERNEL(complex_sigmoid)
GENESIS_KERNEL(complex_sin)
GENESIS_KERNEL(complex_cos)
GENESIS_KERNEL(complex_tan)
GENESIS_KERNEL(complex_asin)
GENESIS_KERNEL(complex_acos)
GENESIS_KERNEL(complex_atan)
GENESIS_KERNEL(complex_sinh)
GENESIS_KERNEL(complex_cosh)
GENESIS_KERNEL(complex_tanh)
GENESIS_KERNEL(complex_asinh)
GENESIS_KERNEL(complex_acosh)
GENESIS_KERNEL(complex_atanh)
GENESIS_KERNEL(complex_cumprod)
GENESIS_KERNEL(complex_linear_scan)

}  // namespace genesis::kernels::GENESIS_ISA
