// Measures the error of every function of kernels/elementwise/vecmath.h, vectrig.h and special.h against libm in the
// next wider type, in a loop that the compiler may vectorise, as kernels do. Prints the largest error in ulp of each,
// then "N passed, M failed". `test_vecmath 1` tests all 2^32 floats (minutes per function); the default stride is 4093.
//
//   g++ -std=c++20 -O3 -fno-math-errno -fno-trapping-math -DGENESIS_ISA=avx2 -mavx2 -mfma -Icsrc
//       tests/cpp/test_vecmath.cpp -o test_vecmath && ./test_vecmath
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/elementwise/special.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/elementwise/vectrig.h"

using namespace genesis::kernels::GENESIS_ISA;

namespace {

using Real = long double;
int passed = 0, failed = 0;

// The distance of y from the true value, in units of the last place of T; huge where not even the kind is right.
template <class T, class R>
double ulps(T y, R want) {
  constexpr bool single = sizeof(T) == 4;
  constexpr int digits = single ? 23 : 52, least = single ? -126 : -1022, most = single ? 127 : 1023;
  if (std::isnan(want) || std::isnan(y)) return std::isnan(want) && std::isnan(y) ? 0 : 1e30;
  if (want == 0 && y == 0) return std::signbit(want) == std::signbit(y) ? 0 : 1e30;
  if (std::isinf(y) && static_cast<T>(want) == y) return 0;
  if (std::isinf(want)) return 1e30;
  R got = std::isinf(y) ? std::copysign(std::ldexp(R(1), most + 1), R(y)) : R(y);
  int exponent = want == 0 ? least : std::max(std::min(std::ilogb(want), most), least);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(R(1), exponent - digits));
}

void report(const char* name, double worst, double at, double limit) {
  bool ok = worst <= limit;
  ++(ok ? passed : failed);
  std::printf("%-22s %8.3f ulp at %-14.9g limit %g%s\n", name, worst, at, limit, ok ? "" : "  FAILED");
}

constexpr float special_values[] = {
    0.0f,       -0.0f,           INFINITY,         -INFINITY,  NAN,   1.0f,  -1.0f, 0.5f,  -0.5f,
    2.0f,       -2.0f,           0x1p-149f,        -0x1p-149f, 3.0f,  -3.0f, 1e5f,  88.0f, 0x1p-126f,
    -0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f, 1.5f,       1e-5f, 104.0f};

// loop(y, x, n) applies the function; |x| beyond the domain is left out.
template <class Loop, class Reference>
void test_float(const char* name, uint64_t stride, double limit, double domain, Loop loop, Reference reference) {
  constexpr int64_t size = 4099;  // not a multiple of any vector, so that remainders are tested too
  std::vector<float> x, y(size);
  double worst = 0, at = 0;
  auto flush = [&] {
    loop(y.data(), x.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      double e = ulps(y[i], reference(static_cast<double>(x[i])));
      if (e > worst) worst = e, at = x[i];
    }
    x.clear();
  };
  auto push = [&](float v) {
    if (std::fabs(v) > domain && !std::isinf(v)) return;
    x.push_back(v);
    if (x.size() == size) flush();
  };
  for (float v : special_values) push(v);
  for (uint64_t i = 0; i < uint64_t{1} << 32; i += stride) push(__builtin_bit_cast(float, static_cast<uint32_t>(i)));
  flush();
  report(name, worst, at, limit);
}

template <class Loop, class Reference>
void test_double(const char* name, double limit, Loop loop, Reference reference) {
  constexpr int64_t size = 1027;
  std::vector<double> x(size), y(size);
  std::mt19937_64 random(1);
  double worst = 0, at = 0;
  for (int round = 0; round < 150; ++round) {
    for (int64_t i = 0; i < size; ++i) {
      uint64_t w = random();
      double unit = static_cast<double>(w >> 11) * 0x1p-52 - 1.0;
      x[i] = round % 3 == 0 ? __builtin_bit_cast(double, w) : unit * (round % 3 == 1 ? 2.0 : 750.0);
    }
    if (round == 0) {
      int64_t i = 0;
      for (float v : special_values) x[i++] = v;
    }
    loop(y.data(), x.data(), size);
    for (int64_t i = 0; i < size; ++i) {
      double e = ulps(y[i], reference(static_cast<Real>(x[i])));
      if (e > worst) worst = e, at = x[i];
    }
  }
  report(name, worst, at, limit);
}

template <class Loop, class Reference>
void test_pairs(const char* name, double limit, Loop loop, Reference reference) {
  std::vector<float> x, y;
  std::mt19937_64 random(2);
  const float more[] = {1e10f, 16777215.0f, -16777215.0f, 8388607.5f, 2e30f, -2e30f, 0.99999994f, -1.5f};
  std::vector<float> values(std::begin(special_values), std::end(special_values));
  values.insert(values.end(), std::begin(more), std::end(more));
  for (float a : values) {
    for (float b : values) x.push_back(a), y.push_back(b);
  }
  for (int i = 0; i < 1 << 20; ++i) {
    uint64_t w = random();
    float a = __builtin_bit_cast(float, static_cast<uint32_t>(w));
    float b = __builtin_bit_cast(float, static_cast<uint32_t>(w >> 32));
    x.push_back(i & 1 ? std::fabs(a) : a);
    // Half of the time a power that neither overflows nor vanishes.
    double l = std::log(std::fabs(static_cast<double>(a)));
    y.push_back(i & 1 ? static_cast<float>((static_cast<double>(w >> 32) * 0x1p-31 - 1.0) * 105.0 / l) : b);
  }
  std::vector<float> z(x.size());
  loop(z.data(), x.data(), y.data(), static_cast<int64_t>(x.size()));
  double worst = 0, at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double e = ulps(z[i], reference(static_cast<double>(x[i]), static_cast<double>(y[i])));
    if (e > worst) worst = e, at = x[i];
  }
  report(name, worst, at, limit);
}

template <class R>
R sigmoid(R x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <class R>
R silu(R x) {
  return x < -12000 ? R(-0.0) : x * sigmoid(x);
}
double gelu(double x) { return x < -38 ? -0.0 : x * 0.5 * std::erfc(-x * std::sqrt(0.5)); }
double gelu_tanh(double x) {
  double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return u < -350 ? -0.0 : x * sigmoid(2 * u);
}
double softplus(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }

// digamma by another way than special.h: the recurrence to 1000, and three terms of the series.
double digamma(double x) {
  Real sum = 0, t = x;
  for (; t < 1000; t += 1) sum += 1 / t;
  return static_cast<double>(std::log(t) - 1 / (2 * t) - 1 / (12 * t * t) + 1 / (120 * t * t * t * t) - sum);
}

#define FLOAT(name, limit, reference) FLOAT_UP_TO(INFINITY, name, limit, reference)
#define FLOAT_UP_TO(domain, name, limit, reference)                   \
  test_float(                                                         \
      #name, stride, limit, domain,                                   \
      [](float* __restrict y, const float* __restrict x, int64_t n) { \
        for (int64_t i = 0; i < n; ++i) y[i] = v##name(x[i]);         \
      },                                                              \
      [](double x) { return reference(x); })
#define TILE(name, limit)                       \
  test_float(                                   \
      #name "_tile", stride, limit, INFINITY,   \
      [](float* y, const float* x, int64_t n) { \
        std::memcpy(y, x, n * sizeof(float));   \
        v##name##_tile(y, y, n);                \
      },                                        \
      [](double x) { return std::name(x); })
#define TRIG(name, limit)                                             \
  test_float(                                                         \
      #name, stride, limit, vec::trig_limit,                          \
      [](float* __restrict y, const float* __restrict x, int64_t n) { \
        for (int64_t i = 0; i < n; ++i) y[i] = v##name(x[i]);         \
      },                                                              \
      [](double x) { return std::name(x); })
#define DOUBLE(name, limit, reference)                                  \
  test_double(                                                          \
      #name " (double)", limit,                                         \
      [](double* __restrict y, const double* __restrict x, int64_t n) { \
        for (int64_t i = 0; i < n; ++i) y[i] = v##name(x[i]);           \
      },                                                                \
      [](Real x) { return reference(x); })
#define PAIRS(name, limit)                                                                       \
  test_pairs(                                                                                    \
      #name, limit,                                                                              \
      [](float* __restrict z, const float* __restrict x, const float* __restrict y, int64_t n) { \
        for (int64_t i = 0; i < n; ++i) z[i] = v##name(x[i], y[i]);                              \
      },                                                                                         \
      [](double x, double y) { return std::name(x, y); })

void test_special_functions() {
  double worst = 0, at = 0;
  for (double x = 0.001; x < 5.8; x += 0.00037) {
    // y = erf(x) is itself rounded, so compare there where the inverse does not magnify that: through the complement.
    double y = std::erf(x), back = verfinv(y);
    double residual = x < 0.5 ? std::fabs(std::erf(back) / y - 1) : std::fabs(std::erfc(back) / (1 - y) - 1);
    if (y < 1 && residual / 0x1p-52 / (1 + 2 * x * x) > worst) worst = residual / 0x1p-52 / (1 + 2 * x * x), at = x;
  }
  report("erfinv (double)", worst, at, 4);
  worst = 0;
  for (double x = 0.01; x < 60; x += 0.0137) {
    double e = std::fabs(vdigamma(x) - digamma(x)) / 0x1p-52 / std::fmax(1.0, std::fabs(digamma(x)));
    if (e > worst) worst = e, at = x;
  }
  report("digamma (double)", worst, at, 8);
  bool edges = std::isinf(verfinv(1.0f)) && std::isnan(verfinv(1.5f)) && vdigamma(0.0f) == -INFINITY &&
               vdigamma(-0.0f) == INFINITY && std::isnan(vdigamma(-3.0f)) && vlgamma(-1.0f) == INFINITY &&
               vlgamma(INFINITY) == INFINITY && std::fabs(vtrigamma(1.0) - M_PI * M_PI / 6) < 1e-15;
  report("edges of special.h", edges ? 0 : 1e30, 0, 0);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4093;
  FLOAT(exp, 1.1, std::exp);
  FLOAT(exp2, 1.2, std::exp2);
  FLOAT(expm1, 2, std::expm1);
  FLOAT(log, 1, std::log);
  FLOAT(log2, 2, std::log2);
  FLOAT(log10, 2, std::log10);
  FLOAT(log1p, 2, std::log1p);
  FLOAT(tanh, 2.03, std::tanh);  // one float of the baseline build is at 2.023
  FLOAT(sigmoid, 2, sigmoid);
  FLOAT(silu, 2.5, silu);
  FLOAT(softplus, 2, softplus);
  FLOAT(sinh, 2, std::sinh);
  FLOAT(cosh, 2, std::cosh);
  FLOAT(asinh, 2, std::asinh);
  FLOAT(acosh, 2, std::acosh);
  FLOAT(atanh, 2, std::atanh);
  FLOAT(erf, 2, std::erf);
  FLOAT(erfc, 2, std::erfc);
  FLOAT_UP_TO(1, gelu, 5, gelu);
  FLOAT_UP_TO(13.24, gelu, 179, gelu);  // what is subnormal beyond becomes zero
  FLOAT(gelu_tanh, 3, gelu_tanh);
  TRIG(sin, 2);
  TRIG(cos, 2);
  TRIG(tan, 2);
  TILE(sin, 2);
  TILE(cos, 2);
  TILE(tan, 2);
  FLOAT(asin, 2, std::asin);
  FLOAT(acos, 2, std::acos);
  FLOAT(atan, 2, std::atan);
  PAIRS(atan2, 2);
  PAIRS(pow, 2);
  PAIRS(hypot, 1);
  DOUBLE(exp, 1.1, std::exp);
  DOUBLE(log, 1, std::log);
  DOUBLE(tanh, 2.5, std::tanh);
  DOUBLE(sigmoid, 2, sigmoid);
  DOUBLE(silu, 2.5, silu);
  test_special_functions();
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
