// Functions that are too rare to vectorize: erfinv, lgamma, digamma, trigamma. They are computed in double; the float
// versions round that result.
#pragma once

#include <cmath>

#if !defined(GENESIS_ISA)
#error "special.h is for kernel files, which are compiled with -DGENESIS_ISA=..."
#endif

namespace genesis::kernels::GENESIS_ISA {

// A closed-form initial value accurate to 2e-3 (Winitzki), followed by Halley steps, each of which triples the number
// of digits.
[[maybe_unused]] static double verfinv(double y) {
  double a = std::fabs(y);
  if (!(a < 1.0)) return a == 1.0 ? std::copysign(HUGE_VAL, y) : std::nan("");
  constexpr double half_sqrt_pi = 0.88622692545275801;
  if (a < 1e-8) return y * half_sqrt_pi;  // the next term is y^3 / 4
  double l = std::log1p(-a * a);
  double t = 4.3307467508 + 0.5 * l;  // 2 / (0.147 pi)
  double x = std::sqrt(-l / 0.147 / (std::sqrt(t * t - l / 0.147) + t));
  for (int step = 0; step < 3; ++step) {
    // In the tail, subtract the complements: 1 - a is exact there, erf(x) is not.
    double error = a < 0.5 ? std::erf(x) - a : (1.0 - a) - std::erfc(x);
    double u = error * half_sqrt_pi * std::exp(x * x);
    x -= u / (1.0 + x * u);
  }
  return std::copysign(x, y);
}

// std::lgamma writes the global signgam, which is a data race.
[[maybe_unused]] static double vlgamma(double x) {
#if defined(_MSC_VER)
  return std::lgamma(x);
#else
  int sign;
  return ::lgamma_r(x, &sign);
#endif
}

// Uses psi(x) = psi(x + 1) - 1/x until the asymptotic series is accurate, and the reflection formula below zero.
[[maybe_unused]] static double vdigamma(double x) {
  if (x == 0.0) return std::copysign(HUGE_VAL, -x);
  constexpr double pi = 3.14159265358979324;
  if (x < 0.0) {
    double fraction = x - std::nearbyint(x);
    if (fraction == 0.0 || x == -HUGE_VAL) return std::nan("");
    return vdigamma(1.0 - x) - pi / std::tan(pi * fraction);
  }
  double sum = 0.0;
  for (; x < 10.0; x += 1.0) sum += 1.0 / x;
  double z = 1.0 / (x * x);
  double series =
      z *
      (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return std::log(x) - 0.5 / x - series - sum;
}

// The derivative of digamma, computed the same way: psi'(x) = psi'(x + 1) + 1/x^2.
[[maybe_unused]] static double vtrigamma(double x) {
  if (x == 0.0) return HUGE_VAL;
  constexpr double pi = 3.14159265358979324;
  if (x < 0.0) {
    double fraction = x - std::nearbyint(x);
    if (x == -HUGE_VAL) return std::nan("");
    if (fraction == 0.0) return HUGE_VAL;
    double s = pi / std::sin(pi * fraction);
    return s * s - vtrigamma(1.0 - x);
  }
  double sum = 0.0;
  for (; x < 12.0; x += 1.0) sum += 1.0 / (x * x);
  double r = 1.0 / x;
  double z = r * r;
  double series =
      z *
      (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730 - z * 7 / 6))))));
  return sum + r * (1.0 + 0.5 * r + series);
}

[[maybe_unused]] static float verfinv(float y) { return static_cast<float>(verfinv(static_cast<double>(y))); }
[[maybe_unused]] static float vlgamma(float x) { return static_cast<float>(vlgamma(static_cast<double>(x))); }
[[maybe_unused]] static float vdigamma(float x) { return static_cast<float>(vdigamma(static_cast<double>(x))); }
[[maybe_unused]] static float vtrigamma(float x) { return static_cast<float>(vtrigamma(static_cast<double>(x))); }

}  // namespace genesis::kernels::GENESIS_ISA
