// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), and the derivative of a gamma variate
// with respect to its shape parameter. All in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace genesis::ops::gamma {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
inline constexpr double kLargeShape = 1e7;  // from here on the uniform expansion is accurate to double precision

inline double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

inline double digamma(double x) {  // x > 0
  double sum = 0;
  for (; x < 10; x += 1) sum += 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z *
      (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return std::log(x) - 0.5 / x - series - sum;
}

// m - log(1 + m), without cancellation near 0.
inline double log1p_excess(double m) {
  if (std::abs(m) > 0.02) return m - std::log1p(m);
  double sum = 0, power = m;
  for (int k = 2; k < 14; ++k) {
    power *= -m;
    sum -= power / k;
  }
  return sum;
}

// x^a exp(-x) / Gamma(a + 1). For large a by Stirling's series, because the difference of large logarithms loses
// digits.
inline double weight(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - log_gamma(a + 1));
  const double z = 1 / (a * a), stirling = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680))) / a;
  const double m = (x - a) / a, excess = m < -0.5 ? m - std::log(x / a) : log1p_excess(m);
  return std::exp(-a * excess - stirling) / std::sqrt(2 * std::numbers::pi * a);
}

// P(a, x) as a sum of positive terms, for x < a + 1.
inline double lower_series(double a, double x) {
  double term = 1, sum = 1;
  for (double n = a + 1; term > kEpsilon / 8 * sum; n += 1) {
    term *= x / n;
    sum += term;
  }
  return sum * weight(a, x);
}

// A number and its derivative by the shape a.
struct Dual {
  double value, slope;
};
inline Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
inline Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
inline Dual operator/(Dual a, Dual b) {
  const double q = a.value / b.value;
  return {q, (a.slope - q * b.slope) / b.value};
}

// Q(a, x) Gamma(a) exp(x) / x^a for x >= a + 1, by Lentz's evaluation of Legendre's continued fraction.
inline Dual upper_fraction(double a, double x) {
  Dual b{x + 1 - a, -1}, c{1e300, 0}, d = Dual{1, 0} / b, h = d;
  for (int i = 1; i < 100000; ++i) {
    const Dual an = Dual{-static_cast<double>(i), 0} * Dual{i - a, -1};
    b = b + Dual{2, 0};
    d = Dual{1, 0} / (an * d + b);
    c = b + an / c;
    const Dual factor = c * d;
    h = h * factor;
    if (std::abs(factor.value - 1) < kEpsilon && std::abs(factor.slope) < kEpsilon) break;
  }
  return h;
}

// Temme's uniform expansion; for a >= kLargeShape, the first correction term is sufficient.
inline double uniform_expansion(double a, double x, bool upper) {
  const double m = (x - a) / a, half_square = log1p_excess(m), eta = std::copysign(std::sqrt(2 * half_square), m);
  const double first = -1.0 / 3 + eta * (1.0 / 12 - eta * (2.0 / 135 - eta / 864));
  const double correction = std::exp(-a * half_square) / std::sqrt(2 * std::numbers::pi * a) * first;
  const double tail = std::erfc((upper ? eta : -eta) * std::sqrt(a / 2)) / 2;
  return upper ? tail + correction : tail - correction;
}

inline double regularised(double a, double x, bool upper) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a < 0) return kNaN;
  if (a == 0) return x > 0 ? (upper ? 0 : 1) : kNaN;
  if (x == 0) return upper ? 1 : 0;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : upper ? 1 : 0;
  if (std::isinf(x)) return upper ? 0 : 1;
  if (a >= kLargeShape) return uniform_expansion(a, x, upper);
  if (x < a + 1) {
    const double p = lower_series(a, x);
    return upper ? 1 - p : p;
  }
  const double q = weight(a, x) * a * upper_fraction(a, x).value;
  return upper ? q : 1 - q;
}

inline double lower(double a, double x) { return regularised(a, x, false); }
inline double upper(double a, double x) { return regularised(a, x, true); }

// The derivative by a of the logarithm of a gamma variate z of shape a, at a fixed value of its distribution function:
// -(dP/da) / (z p(z)), where p is the density (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients",
// 2018). The variate is given by its logarithm, because it may be too small for a double.
inline double log_variate_slope(double a, double log_z) {
  const double z = std::exp(log_z);
  if (a >= 1e5) {  // Wilson-Hilferty approximation: the cube root of z / a is normal
    const double w = std::cbrt(z / a), normal = (w - 1 + 1 / (9 * a)) * 3 * std::sqrt(a);
    return 1 / a + 3 / w * (1 / (9 * a * a) - normal / (6 * a * std::sqrt(a)));
  }
  if (z < a + 1) {
    double psi = digamma(a + 1), term = 1, sum = 0, size = 0;
    for (double n = a + 1;; n += 1) {
      sum += term * (log_z - psi);
      size += term;
      if (term < kEpsilon / 8 * size) break;
      psi += 1 / n;
      term *= z / n;
    }
    return -sum / a;
  }
  const Dual h = upper_fraction(a, z);  // Q = z^a exp(-z) / Gamma(a) h, and z p(z) = z^a exp(-z) / Gamma(a)
  return h.slope + h.value * (log_z - digamma(a));
}

}  // namespace genesis::ops::gamma
