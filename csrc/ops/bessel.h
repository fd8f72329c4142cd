// Bessel functions and the Airy function, in double.
#pragma once

#include <math.h>  // j0 and related functions, which are not in std

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace genesis::ops::bessel {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kTiny = 1e-18;  // relative size of negligible terms
using std::numbers::pi;

// ---- I --------------------------------------------------------------------------------------------------------------

// I(a) exp(-a) for a >= 0: a power series with positive terms, or from 20 on an asymptotic series in 1 / a, whose
// smallest term is below double precision there.
inline double scaled_i(double a, int order) {
  double term = 1, sum = 1;
  if (a <= 20) {
    for (int k = 1; k < 80 && term > kTiny * sum; ++k) {
      term *= a * a / 4 / (k * (k + order));
      sum += term;
    }
    return std::exp(-a) * (order == 0 ? sum : sum * a / 2);
  }
  for (int k = 1; k < 40 && std::abs(term) > kTiny; ++k) {
    term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * a);
    sum += term;
  }
  return sum / std::sqrt(2 * pi * a);
}

inline double i0e(double x) { return scaled_i(std::abs(x), 0); }
inline double i1e(double x) { return std::copysign(scaled_i(std::abs(x), 1), x); }
// exp(x) may overflow where the result does not.
inline double grown(double scaled, double x) {
  const double half = std::exp(std::abs(x) / 2);
  return std::isinf(x) ? std::copysign(kInfinity, scaled) : scaled * half * half;
}
inline double bessel0(double x) { return grown(i0e(x), x); }
inline double bessel1(double x) { return grown(i1e(x), x); }

// ---- K --------------------------------------------------------------------------------------------------------------

// K_0 and K_1 of x > 0, times exp(x).
struct ScaledK {
  double k0, k1;
};
// Power series, and the Wronskian for K_1.
inline ScaledK small_k(double x) {
  double term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < 40; ++k) {
    term *= x * x / 4 / (k * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
    if (term * harmonic < kTiny * sum) break;
  }
  const double i0 = bessel0(x), k0 = sum - (std::log(x / 2) + std::numbers::egamma) * i0;
  return {k0 * std::exp(x), (1 / x - bessel1(x) * k0) / i0 * std::exp(x)};
}
// The second continued fraction in Temme's form, which converges faster for larger x.
inline ScaledK large_k(double x) {
  double b = 2 * (1 + x), d = 1 / b, step = d, fraction = d;
  double before = 0, last = 1, c = 0.25, q = c, a = -c, sum = 1 + q * step;
  for (int i = 2; i < 1000; ++i) {
    a -= 2 * (i - 1);
    c *= -a / i;
    const double next = (before - b * last) / a;
    before = last;
    last = next;
    q += c * next;
    b += 2;
    d = 1 / (b + a * d);
    step *= b * d - 1;
    fraction += step;
    sum += q * step;
    if (std::abs(q * step) < kTiny * std::abs(sum)) break;
  }
  const double k0 = std::sqrt(pi / (2 * x)) / sum;
  return {k0, k0 * (x + 0.5 - fraction / 4) / x};
}
inline ScaledK scaled_k(double x) {
  if (!(x > 0)) return x == 0 ? ScaledK{kInfinity, kInfinity} : ScaledK{kNaN, kNaN};
  if (std::isinf(x)) return {0, 0};
  return x <= 2 ? small_k(x) : large_k(x);
}
inline double k0e(double x) { return scaled_k(x).k0; }
inline double k1e(double x) { return scaled_k(x).k1; }
inline double k0(double x) { return x > 0 ? scaled_k(x).k0 * std::exp(-x) : scaled_k(x).k0; }
inline double k1(double x) { return x > 0 ? scaled_k(x).k1 * std::exp(-x) : scaled_k(x).k1; }

// ---- J and Y --------------------------------------------------------------------------------------------------------

inline double j0(double x) { return std::isinf(x) ? kNaN : ::j0(x); }
inline double j1(double x) { return std::isinf(x) ? kNaN : ::j1(x); }
inline double y0(double x) { return x == 0 ? -kInfinity : x > 0 && std::isfinite(x) ? ::y0(x) : kNaN; }
inline double y1(double x) { return x == 0 ? -kInfinity : x > 0 && std::isfinite(x) ? ::y1(x) : kNaN; }

// The spherical functions sin(x) / x and (sin(x) / x - cos(x)) / x.
inline double spherical_j0(double x) { return x == 0 ? 1 : std::isinf(x) ? 0 : std::sin(x) / x; }
inline double spherical_j1(double x) {
  if (std::isinf(x)) return 0;
  if (std::abs(x) > 0.5) return (std::sin(x) / x - std::cos(x)) / x;
  double term = x / 3, sum = term;
  for (int k = 1; k < 12; ++k) {
    term *= -x * x / (2 * k * (2 * k + 3));
    sum += term;
  }
  return sum;
}

// ---- Airy -----------------------------------------------------------------------------------------------------------

struct Airy {
  double value, slope;
};
// Ai and its derivative at -10, ..., 10.
inline constexpr Airy kAiry[] = {
    {0.040241238486443191, 0.99626504413279006},      {-0.022133721547341404, -0.97566398092633159},
    {-0.052705050356386203, 0.93556093819830655},     {0.18428083525050564, -0.77100816841012655},
    {-0.32914517362982311, 0.34593548728134289},      {0.35076100902411432, 0.32719281855444314},
    {-0.070265532949289515, -0.79062857536858138},    {-0.37881429367765807, 0.31458376921659881},
    {0.22740742820168558, 0.61825902074169104},       {0.53556088329235212, -0.010160567116645209},
    {0.35502805388781724, -0.2588194037928068},       {0.13529241631288142, -0.15914744129679321},
    {0.034924130423274379, -0.053090384433653632},    {0.0065911393574607191, -0.011912976705951318},
    {0.00095156385120480187, -0.0019586409502041789}, {0.00010834442813607442, -0.00024741389086846248},
    {9.9476943602528896e-6, -2.4765200397034955e-5},  {7.4921288639971671e-7, -2.008150894738792e-6},
    {4.6922076160992316e-8, -1.3414392979067866e-7},  {2.4711684308724898e-9, -7.4806413896589464e-9},
    {1.1047532552898686e-10, -3.5206336767389236e-10}};

// The Taylor series around the nearest integer, with coefficients from Ai'' = x Ai.
inline Airy airy_near(double x) {
  const double centre = std::clamp(std::round(x), -10.0, 10.0), h = x - centre;
  const Airy at = kAiry[static_cast<int>(centre) + 10];
  double before = 0, a = at.value, b = at.slope;  // coefficients n - 1, n, n + 1
  double power = 1, value = 0, slope = 0;
  for (int n = 0; n < 40; ++n) {
    value += a * power;
    slope += (n + 1) * b * power;
    power *= h;
    const double next = (centre * a + before) / ((n + 1) * (n + 2));
    before = a;
    a = b;
    b = next;
  }
  return {value, slope};
}

// Asymptotic series in 1 / z, z = 2/3 |x|^(3/2), whose smallest term is below double precision from |x| = 10 on.
inline Airy airy_far(double x) {
  const double size = std::abs(x), z = 2.0 / 3 * size * std::sqrt(size), root = std::sqrt(std::sqrt(size));
  double u = 1, even_u = 0, odd_u = 0, even_v = 0, odd_v = 0;
  for (int k = 0; k < 24; ++k) {
    const double v = k == 0 ? 1 : -u * (6.0 * k + 1) / (6.0 * k - 1);
    // For x > 0 signs alternate with k; for x < 0 within the even and within the odd terms.
    const double sign = x > 0 ? (k % 2 ? -1 : 1) : (k / 2 % 2 ? -1 : 1);
    (k % 2 ? odd_u : even_u) += sign * u;
    (k % 2 ? odd_v : even_v) += sign * v;
    const double next = u * (6.0 * k + 1) * (6.0 * k + 3) * (6.0 * k + 5) / (216.0 * (k + 1) * (2.0 * k + 1)) / z;
    if (next >= u) break;
    u = next;
  }
  if (x > 0) {
    const double scale = std::exp(-z) / (2 * std::sqrt(pi));
    return {scale / root * (even_u + odd_u), -scale * root * (even_v + odd_v)};
  }
  const double sine = std::sin(z + pi / 4), cosine = std::cos(z + pi / 4), scale = 1 / std::sqrt(pi);
  return {scale / root * (sine * even_u - cosine * odd_u), -scale * root * (cosine * even_v + sine * odd_v)};
}
inline Airy airy(double x) {
  if (!std::isfinite(x)) return {kNaN, kNaN};
  return std::abs(x) <= 10.5 ? airy_near(x) : airy_far(x);
}
inline double airy_value(double x) { return airy(x).value; }
inline double airy_slope(double x) { return airy(x).slope; }

}  // namespace genesis::ops::bessel
