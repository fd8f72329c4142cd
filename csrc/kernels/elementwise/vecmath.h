// Elementary functions as branch-free scalar code, which g++ vectorizes in
//   for (i = 0; i < n; ++i) y[i] = vexp(x[i]);
//
// Errors are at most 2 ulp in float32 (silu 2.5, gelu 4 + x^2; tests/cpp/test_vecmath.cpp measures them). Infinities,
// NaN, signed zeros and subnormals are handled as in C's <math.h>. The double versions of exp, log, tanh, sigmoid and
// silu vectorize; the others call libm. The coefficients are our own minimax fits, rounded to the type one at a time,
// starting with the lowest power.
//
// Compile with -O3 -fno-math-errno -fno-trapping-math; otherwise square roots and selects do not vectorize. Any
// -ffp-contract works. Never use -ffast-math, which would optimize away the splittings and the selects on NaN.
//
// Three techniques recur:
// - Adding 1.5 * 2^23 rounds a float to the nearest integer and leaves that integer in the low bits of the sum.
// - A select propagates NaN if NaN takes its "else": x > hi ? hi : x clamps and propagates NaN.
// - 2^n is applied as two factors, since n may reach -150 while 2^n is a normal float only down to -126.
#pragma once

#include <cmath>
#include <cstdint>

#if !defined(GENESIS_ISA)
#error "vecmath.h is for kernel files, which are compiled with -DGENESIS_ISA=..."
#endif

// Internal linkage and forced inlining: code compiled for one instruction set must not be linked into another.
#define GENESIS_VEC static inline __attribute__((always_inline))

namespace genesis::kernels::GENESIS_ISA {

namespace vec {

constexpr float inf = __builtin_inff();
constexpr float nan = __builtin_nanf("");
constexpr uint32_t sign_bit = 0x80000000;
constexpr float magic = 0x1.8p23f;
constexpr double magic_d = 0x1.8p52;
constexpr float log2e = 1.44269502f;
// ln 2 as nine leading bits, so that n * ln2_hi is exact even without FMA, and the remainder.
constexpr float ln2_hi = 0.693359375f, ln2_lo = -0.000212194442f;
constexpr double log2e_d = 0x1.71547652b82fep+0;
constexpr double ln2_hi_d = 0x1.62e42fefa0000p-1, ln2_lo_d = 0x1.cf79abc9e3b3ap-40;

// Unsigned, because the arithmetic below wraps around intentionally.
GENESIS_VEC uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }
GENESIS_VEC uint64_t bits(double x) { return __builtin_bit_cast(uint64_t, x); }
GENESIS_VEC float from_bits(uint32_t i) { return __builtin_bit_cast(float, i); }
GENESIS_VEC double from_bits(uint64_t i) { return __builtin_bit_cast(double, i); }

GENESIS_VEC float abs(float x) { return __builtin_fabsf(x); }
GENESIS_VEC double abs(double x) { return __builtin_fabs(x); }
GENESIS_VEC float copysign(float y, float x) { return __builtin_copysignf(y, x); }
GENESIS_VEC double copysign(double y, double x) { return __builtin_copysign(y, x); }

// a * b + c, fused if that is one instruction. The error bounds do not depend on the fusion.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
GENESIS_VEC float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
GENESIS_VEC double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
GENESIS_VEC float fma(float a, float b, float c) { return a * b + c; }
GENESIS_VEC double fma(double a, double b, double c) { return a * b + c; }
#endif

// c0 + c1 x + c2 x^2 + ...
template <class T>
GENESIS_VEC T poly(T, T c) {
  return c;
}
template <class T, class... C>
GENESIS_VEC T poly(T x, T c0, C... rest) {
  return fma(poly(x, T(rest)...), x, c0);
}

// min(|x|, limit), where NaN becomes limit. Uses integers because no float minimum of C++ compiles to one instruction.
GENESIS_VEC float clamp_abs(float x, float limit) {
  uint32_t i = bits(abs(x));
  return from_bits(i < bits(limit) ? i : bits(limit));
}

// The number (1 + y) s1 s2, where s1 and s2 are powers of two.
template <class T>
struct Scaled {
  T y, s1, s2;
};
template <class T>
GENESIS_VEC T value(Scaled<T> e) {
  return fma(e.y, e.s1, e.s1) * e.s2;
}
// The number times a factor, multiplied before s2, since the number may be subnormal where the product is not.
template <class T>
GENESIS_VEC T value(Scaled<T> e, T factor) {
  T f = factor * e.s1;
  return fma(e.y, f, f) * e.s2;
}

// (1 + y) 2^(low bits of t - 254); 2046 for double.
GENESIS_VEC Scaled<float> scaled(float y, uint32_t t) {
  uint32_t half = t >> 1;
  return {y, from_bits(half << 23), from_bits((t - half) << 23)};
}
GENESIS_VEC Scaled<double> scaled(double y, uint64_t t) {
  uint64_t half = t >> 1;
  return {y, from_bits(half << 52), from_bits((t - half) << 52)};
}

// r = x - n ln 2 / k, and expm1(k r) / k from it. k is a power of two with a sign.
GENESIS_VEC float exp_reduce(float x, float n, float k) { return fma(n, -ln2_lo / k, fma(n, -ln2_hi / k, x)); }
GENESIS_VEC float expm1_poly(float r, float k) {
  float z = r * r;
  float c0 = fma(r, 0.166665167f * (k * k), 0.49999994f * k);
  float c2 = fma(r, 0.00836925022f * (k * k * k * k), 0.041668281f * (k * k * k));
  return fma(z, fma(z, fma(z, 0.00138208002f * (k * k * k * k * k), c2), c0), r);
}

// 2^r - 1, |r| <= 1/2
GENESIS_VEC float exp2m1_poly(float r) {
  return r * poly(r, 0.693147182f, 0.240226507f, 0.0555035956f, 0.00961806253f, 0.00133909856f, 0.000154628593f);
}

// exp(-x) for x NaN or in [0, 110]
GENESIS_VEC Scaled<float> exp_minus(float x) {
  constexpr float biased = magic + 254.0f;
  float t = fma(x, -log2e, biased);
  return scaled(-expm1_poly(exp_reduce(x, t - biased, -1.0f), -1.0f), bits(t));
}

GENESIS_VEC Scaled<double> exp_parts(double x) {
  constexpr double biased = magic_d + 2046.0;
  double t = fma(x, log2e_d, biased);
  double n = t - biased;
  double r = fma(n, -ln2_lo_d, fma(n, -ln2_hi_d, x));
  double q = poly(r, 0x1.000000000000ap-1, 0x1.55555555554f2p-3, 0x1.55555555505a8p-5, 0x1.111111112992cp-7,
                  0x1.6c16c184d650fp-10, 0x1.a01a01212e34ep-13, 0x1.a019981bc08ccp-16, 0x1.71df37f35d639p-19,
                  0x1.28af547e3b573p-22, 0x1.ad6501ce8e076p-26);
  return scaled(fma(q, r * r, r), bits(t));
}

}  // namespace vec

// exp, exp2, expm1

GENESIS_VEC float vexp(float x) {
  constexpr float biased = vec::magic + 254.0f;
  constexpr uint32_t top = __builtin_bit_cast(uint32_t, biased + 129.0f);
  x = x < -104.0f ? -104.0f : x;
  // The upper bound only has to keep the exponent in range: the polynomial grows without bound.
  uint32_t t = vec::bits(vec::fma(x, vec::log2e, biased));
  t = t < top ? t : top;
  float r = vec::exp_reduce(x, vec::from_bits(t) - biased, 1.0f);
  return vec::value(vec::scaled(vec::expm1_poly(r, 1.0f), t));
}

GENESIS_VEC double vexp(double x) {
  x = x > 710.0 ? 710.0 : x;
  x = x < -746.0 ? -746.0 : x;
  return vec::value(vec::exp_parts(x));
}

GENESIS_VEC float vexp2(float x) {
  constexpr float biased = vec::magic + 254.0f;
  constexpr uint32_t top = __builtin_bit_cast(uint32_t, biased + 129.0f);
  x = x < -151.0f ? -151.0f : x;
  uint32_t t = vec::bits(x + biased);
  t = t < top ? t : top;
  float r = x - (vec::from_bits(t) - biased);
  return vec::value(vec::scaled(vec::exp2m1_poly(r), t));
}
GENESIS_VEC double vexp2(double x) { return std::exp2(x); }

// 2^n (1 + y) - 1 = s2 (s1 y + (s1 - 1 / s2))
GENESIS_VEC float vexpm1(float x) {
  constexpr float biased = vec::magic + 254.0f;
  constexpr uint32_t top = __builtin_bit_cast(uint32_t, biased + 129.0f);
  float c = x < -104.0f ? -104.0f : x;
  uint32_t t = vec::bits(vec::fma(c, vec::log2e, biased));
  t = t < top ? t : top;
  float r = vec::exp_reduce(c, vec::from_bits(t) - biased, 1.0f);
  vec::Scaled<float> e = vec::scaled(vec::expm1_poly(r, 1.0f), t);
  float inverse = vec::from_bits((254u << 23) - vec::bits(e.s2));
  return vec::copysign(vec::fma(e.y, e.s1, e.s1 - inverse) * e.s2, x);
}
GENESIS_VEC double vexpm1(double x) { return std::expm1(x); }

// log, log2, log10, log1p

namespace vec {

template <class T>
struct Reduced {
  T e, f;  // x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
};

constexpr uint32_t sqrt_half = 0x3F3504F3;
constexpr uint32_t mantissa = 0x007FFFFF;
constexpr uint64_t sqrt_half_d = 0x3FE6A09E667F3BCD;

GENESIS_VEC float exponent(uint32_t i) { return static_cast<float>(static_cast<int32_t>(i) >> 23); }

GENESIS_VEC Reduced<float> log_reduce(float x) {
  bool tiny = x < 0x1p-126f;
  float scale = tiny ? 0x1p23f : 1.0f;
  uint32_t base = tiny ? sqrt_half + (23u << 23) : sqrt_half;
  uint32_t i = bits(x * scale) - base;
  return {exponent(i), from_bits((i & mantissa) + sqrt_half) - 1.0f};
}

// For normal x. The exponent is converted to double through the low bits of 2^52, because AVX2 has no conversion from
// 64-bit integers.
GENESIS_VEC Reduced<double> log_reduce(double x) {
  uint64_t i = bits(x) + ((uint64_t{1023} << 52) - sqrt_half_d);
  double e = from_bits((i >> 52) | bits(0x1p52)) - (0x1p52 + 1023.0);
  return {e, from_bits((i & 0x000FFFFFFFFFFFFF) + sqrt_half_d) - 1.0};
}

// log1p(x), x > -1, as e ln 2 + log(1 + f), where f = (1 + x) 2^-e - 1 avoids the rounding of 1 + x.
GENESIS_VEC Reduced<float> log1p_reduce(float x) {
  uint32_t i = bits(1.0f + x) - sqrt_half;
  float s = from_bits(bits(1.0f) - (i & ~mantissa));
  float f = fma(s, x, s - 1.0f);
  float large = from_bits((i & mantissa) + sqrt_half) - 1.0f;  // where 2^-e may be subnormal
  return {exponent(i), x > 0x1p60f ? large : f};
}

// log(1 + f) - f
GENESIS_VEC float log_tail(float f) {
  float p = poly(f, 0.333333313f, -0.250008196f, 0.200012416f, -0.166234091f, 0.1420158f, -0.131596118f, 0.127622232f,
                 -0.0763644502f);
  return f * f * fma(f, p, -0.5f);
}

// e ln 2 + log(1 + f)
GENESIS_VEC float log_join(Reduced<float> d) { return fma(d.e, ln2_hi, d.f + fma(d.e, ln2_lo, log_tail(d.f))); }

// y, or the result of log if x is not a positive finite number.
template <class T>
GENESIS_VEC T log_special(T x, T y) {
  T finite = x < T(inf) ? y : x;
  T zero = x == T(0) ? -T(inf) : T(nan);
  return x > T(0) ? finite : zero;
}

}  // namespace vec

GENESIS_VEC float vlog(float x) { return vec::log_special(x, vec::log_join(vec::log_reduce(x))); }

GENESIS_VEC double vlog(double x) {
  bool tiny = x < 0x1p-1022;
  double scale = tiny ? 0x1p54 : 1.0;
  double shift = tiny ? 54.0 : 0.0;
  vec::Reduced<double> d = vec::log_reduce(x * scale);
  double e = d.e - shift;
  double s = d.f / (2.0 + d.f);
  double z = s * s;
  double r = z * vec::poly(z, 0x1.5555555555592p-1, 0x1.999999997feedp-2, 0x1.24924941e537bp-2, 0x1.c71c52104dd7bp-3,
                           0x1.74663de495bb2p-3, 0x1.39a1ccb7a4770p-3, 0x1.2f04f15df6ea8p-3);
  // log(1 + f) = f - s (f - r), with f s = f^2/2 (1 - s): the large part of the correction is accurate enough.
  double half = 0.5 * d.f * d.f;
  double y = vec::fma(e, vec::ln2_hi_d, d.f - (half - vec::fma(s, half + r, e * vec::ln2_lo_d)));
  return vec::log_special(x, y);
}

GENESIS_VEC float vlog2(float x) {
  vec::Reduced<float> d = vec::log_reduce(x);
  // log2(e) = 1 + 0.44: the 1 causes no rounding.
  float low = vec::fma(d.f, 0.442695051f, vec::log_tail(d.f) * 1.44269502f);
  return vec::log_special(x, d.e + (d.f + low));
}
GENESIS_VEC double vlog2(double x) { return std::log2(x); }

GENESIS_VEC float vlog10(float x) {
  vec::Reduced<float> d = vec::log_reduce(x);
  float low = vec::fma(d.e, 4.60503907e-06f, vec::log_tail(d.f) * 0.434294492f);
  low = vec::fma(d.f, -0.0657055154f, low);  // log10(e) = 1/2 - 0.066
  return vec::log_special(x, vec::fma(d.e, 0.301025390625f, vec::fma(d.f, 0.5f, low)));
}
GENESIS_VEC double vlog10(double x) { return std::log10(x); }

GENESIS_VEC float vlog1p(float x) {
  float y = vec::log_special(1.0f + x, vec::log_join(vec::log1p_reduce(x)));
  return x == 0.0f ? x : y;
}
GENESIS_VEC double vlog1p(double x) { return std::log1p(x); }

// tanh, sigmoid and functions derived from it

// h / (1 + h), h = expm1(2|x|) / 2
GENESIS_VEC float vtanh(float x) {
  constexpr float biased = vec::magic + 127.0f;
  float a = vec::abs(x);
  a = a > 10.0f ? 10.0f : a;
  float t = vec::fma(a, 2.0f * vec::log2e, biased);
  float s = vec::from_bits(vec::bits(t) << 23);
  float q = vec::expm1_poly(vec::exp_reduce(a, t - biased, 2.0f), 2.0f);
  float h = vec::fma(s, q, vec::fma(s, 0.5f, -0.5f));
  float y = h / (1.0f + h);
  // For small h, h - h y is less affected by the rounding of 1 + h.
  return vec::copysign(h < 0.5f ? vec::fma(-h, y, h) : y, x);
}

GENESIS_VEC double vtanh(double x) {
  double a = vec::abs(x);
  a = a > 20.0 ? 20.0 : a;
  vec::Scaled<double> e = vec::exp_parts(a + a);
  double s = 0.5 * e.s1 * e.s2;
  double h = vec::fma(s, e.y, s - 0.5);
  double y = h / (1.0 + h);
  return vec::copysign(h < 0.5 ? vec::fma(-h, y, h) : y, x);
}

namespace vec {

// y / (1 + e) for finite y and e in [0, 1], with a first-order correction of the rounding of 1 + e.
template <class T>
GENESIS_VEC T over_one_plus(T y, T e) {
  T d = T(1) + e;
  T lost = (d - T(1)) - e;
  T q = y / d;
  return fma(q, lost, q);
}

// log(1 + e), e in [0, 1]
GENESIS_VEC float log1p_unit(float e) {
  bool upper = e > 0.414f;
  return log_join({upper ? 1.0f : 0.0f, upper ? fma(e, 0.5f, -0.5f) : e});
}

}  // namespace vec

GENESIS_VEC float vsigmoid(float x) {
  float a = vec::abs(x);
  float e = vec::value(vec::exp_minus(a > 104.0f ? 104.0f : a));
  return vec::over_one_plus(x < 0.0f ? e : 1.0f, e);
}

GENESIS_VEC double vsigmoid(double x) {
  double a = vec::abs(x);
  double e = vec::value(vec::exp_parts(-(a > 746.0 ? 746.0 : a)));
  return vec::over_one_plus(x < 0.0 ? e : 1.0, e);
}

// x sigmoid(x), with limit -0 at -inf.
GENESIS_VEC float vsilu(float x) {
  float a = vec::abs(x);
  a = a > 110.0f ? 110.0f : a;
  vec::Scaled<float> e = vec::exp_minus(a);
  float y = vec::over_one_plus(x < 0.0f ? vec::value(e, a) : a, vec::value(e));
  return x > 110.0f ? x : vec::copysign(y, x);
}
GENESIS_VEC double vsilu(double x) {
  double a = vec::abs(x);
  a = a > 760.0 ? 760.0 : a;
  vec::Scaled<double> e = vec::exp_parts(-a);
  double y = vec::over_one_plus(x < 0.0 ? vec::value(e, a) : a, vec::value(e));
  return x > 760.0 ? x : vec::copysign(y, x);
}

// log(1 + exp(x)), and log(sigmoid(x)) = -log(1 + exp(-x))
GENESIS_VEC float vsoftplus(float x) {
  float a = vec::abs(x);
  float e = vec::value(vec::exp_minus(a > 104.0f ? 104.0f : a));
  return (x > 0.0f ? x : 0.0f) + vec::log1p_unit(e);
}
GENESIS_VEC float vlogsigmoid(float x) { return -vsoftplus(-x); }
GENESIS_VEC double vsoftplus(double x) { return (x > 0.0 ? x : 0.0) + std::log1p(vexp(-vec::abs(x))); }
GENESIS_VEC double vlogsigmoid(double x) { return -vsoftplus(-x); }

// sinh, cosh, asinh, acosh, atanh

namespace vec {

// exp(a) / 2 for a NaN or in [0, 90]; infinity from 89.4 on.
GENESIS_VEC float half_exp(float a) {
  constexpr float biased = magic + 254.0f;
  float t = fma(a, log2e, biased);
  return value(scaled(expm1_poly(exp_reduce(a, t - biased, 1.0f), 1.0f), bits(t) - 1));
}

}  // namespace vec

GENESIS_VEC float vsinh(float x) {
  float z = x * x;
  float small = vec::fma(x * z, vec::poly(z, 0.166666672f, 0.00833331048f, 0.000198428868f, 2.78232119e-06f), x);
  float h = vec::half_exp(vec::clamp_abs(x, 90.0f));
  return vec::abs(x) > 1.0f ? vec::copysign(h - 0.25f / h, x) : small;
}
GENESIS_VEC double vsinh(double x) { return std::sinh(x); }

GENESIS_VEC float vcosh(float x) {
  float a = vec::abs(x);
  float h = vec::half_exp(a > 90.0f ? 90.0f : a);
  return h + 0.25f / h;
}
GENESIS_VEC double vcosh(double x) { return std::cosh(x); }

// log1p(w) with w rounded once from double, or log(2a) where w equals 2a to working precision.
GENESIS_VEC float vasinh(float x) {
  float a = vec::abs(x);
  double b = a;
  double w = b + b * b / (1.0 + std::sqrt(b * b + 1.0));
  bool large = a > 0x1p20f;
  vec::Reduced<float> d = vec::log1p_reduce(large ? a : static_cast<float>(w));
  d.e += large ? 1.0f : 0.0f;
  float y = vec::log_join(d);
  return a < vec::inf ? vec::copysign(y, x) : x;
}
GENESIS_VEC double vasinh(double x) { return std::asinh(x); }

GENESIS_VEC float vacosh(float x) {
  double b = static_cast<double>(x) - 1.0;
  double w = b + std::sqrt(b * (b + 2.0));
  bool large = x > 0x1p20f;
  vec::Reduced<float> d = vec::log1p_reduce(large ? x : static_cast<float>(w));
  d.e += large ? 1.0f : 0.0f;
  float y = vec::log_join(d);
  y = x < vec::inf ? y : x;
  return x < 1.0f ? vec::nan : y;
}
GENESIS_VEC double vacosh(double x) { return std::acosh(x); }

GENESIS_VEC float vatanh(float x) {
  float a = vec::abs(x);
  float w = static_cast<float>(2.0 * a / (1.0 - static_cast<double>(a)));
  float y = 0.5f * vec::log_join(vec::log1p_reduce(w));
  y = a < 1.0f ? y : a == 1.0f ? vec::inf : vec::nan;
  return vec::copysign(y, x);
}
GENESIS_VEC double vatanh(double x) { return std::atanh(x); }

// erf, erfc, gelu

GENESIS_VEC float verf(float x) {
  constexpr float biased = vec::magic + 127.0f;
  float z = x * x;
  float small = vec::fma(
      x, vec::poly(z, 0.128379166f, -0.376125902f, 0.11282865f, -0.0268072877f, 0.0050577037f, -0.000634851865f), x);
  // 1 - erfc(a), erfc(a) = 2^-q
  float a = vec::clamp_abs(x, 3.95f);
  float q = vec::poly(a, 0.000150815235f, 1.62744796f, 0.918302774f, 0.150799006f, -0.0324881151f, 0.00449810969f,
                      -0.000293843215f);
  float t = biased - q;
  float r = (biased - t) - q;
  float p = vec::fma(vec::poly(r, 0.693147242f, 0.240222305f, 0.0555027463f, 0.00967217516f, 0.00134164374f), r, 1.0f);
  float large = vec::fma(-p, vec::from_bits(vec::bits(t) << 23), 1.0f);
  return vec::abs(x) > 0.85f ? vec::copysign(large, x) : small;
}
GENESIS_VEC double verf(double x) { return std::erf(x); }

namespace vec {

// 2^t from a double t in [-160, 160] or NaN
GENESIS_VEC Scaled<float> exp2_parts(double t) {
  constexpr double biased = magic_d + 254.0;
  double b = t + biased;
  return scaled(exp2m1_poly(static_cast<float>(t - (b - biased))), static_cast<uint32_t>(bits(b)));
}

}  // namespace vec

// R(a) exp(-a^2) for a >= 0, R in double.
GENESIS_VEC float verfc(float x) {
  float c = vec::abs(x);
  c = c > 10.3f ? 10.3f : c;
  double a = c;
  double p = vec::poly(a, 1.0, 1.53456775627804, 1.1308676157380513, 0.4823946045411292, 0.11911467414050456,
                       0.014060530837951925);
  double s = vec::poly(a, 1.0, 0.8904930177277538, 0.41573213592914715, 0.10551850822838457, 0.012462063204035012);
  double r = p / vec::fma(1.7724538509055161, a * p, s);
  vec::Scaled<float> e = vec::exp2_parts(a * a * -vec::log2e_d);
  float y = static_cast<float>(r * (1.0 + static_cast<double>(e.y))) * e.s1 * e.s2;
  return x < 0.0f ? 2.0f - y : y;
}
GENESIS_VEC double verfc(double x) { return std::erfc(x); }

namespace vec {

struct Tail {
  float p, ap, q;  // Phi(-a) = p / q exp(-a^2 / 2), ap = a p
  float y, scale;  // exp(-a^2 / 2) = (1 + y) scale
};
constexpr float tail_end = 13.28f;  // scale is 0 there, and from 13.243 on: a Phi(-a) would be subnormal

// The normal distribution function Phi(-a) for a in [0, tail_end], with a relative error of 2^-24 (3 + a^2). q = sqrt(2
// pi) a p + s: for large a, the rounding errors of p cancel in p / q.
GENESIS_VEC Tail normal_tail(float a) {
  float p = poly(a, 0.5f, 0.461696744f, 0.200849682f, 0.0466443449f, 0.00502629671f);
  float ap = a * p;
  float s = poly(a, 1.0f, 0.467962801f, 0.117765754f, 0.0125634447f);
  constexpr float biased = magic + 127.0f;
  float z = a * a;
  float t = fma(z, -0.5f * log2e, biased);
  return {p, ap, fma(2.50663233f, ap, s), exp2m1_poly(fma(z, -0.5f * log2e, biased - t)), from_bits(bits(t) << 23)};
}
GENESIS_VEC float value(Tail t, float factor) {
  float f = factor * t.scale;
  return fma(t.y, f, f);
}

}  // namespace vec

// x Phi(x), with limit -0 at -inf, where 0.5 x (1 + erf(x / sqrt 2)) would be NaN.
GENESIS_VEC float vgelu(float x) {
  float a = vec::clamp_abs(x, vec::tail_end);
  vec::Tail t = vec::normal_tail(a);
  float tail = vec::value(t, t.ap / t.q);
  return x < 0.0f ? -tail : x - tail;
}
GENESIS_VEC double vgelu(double x) { return x < -40.0 ? -0.0 : 0.5 * x * std::erfc(-0.70710678118654752 * x); }

// d/dx x Phi(x) = Phi(x) + x phi(x)
GENESIS_VEC float vgelu_grad(float x) {
  float a = vec::clamp_abs(x, vec::tail_end);
  vec::Tail t = vec::normal_tail(a);
  float tail = vec::value(t, vec::fma(a, -0.398942280f, t.p / t.q));
  float y = x < 0.0f ? tail : 1.0f - tail;
  return x == x ? y : x;
}
GENESIS_VEC double vgelu_grad(double x) {
  double c = x > 40.0 ? 40.0 : x < -40.0 ? -40.0 : x;
  return 0.5 * std::erfc(-0.70710678118654752 * c) + c * 0.39894228040143268 * vexp(-0.5 * c * c);
}

namespace vec {

// 2 sqrt(2 / pi) (x + 0.044715 x^3), the argument of the sigmoid that approximates Phi, and its derivative.
GENESIS_VEC double gelu_argument(double x) { return x * fma(x * x, 0.071354816272600248, 1.5957691216057307); }
GENESIS_VEC double gelu_argument_grad(double x) { return fma(x * x, 0.21406444881780074, 1.5957691216057307); }

}  // namespace vec

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), expressed with the sigmoid to avoid cancellation for x < 0.
GENESIS_VEC float vgelu_tanh(float x) {
  float a = vec::abs(x);
  a = a > 11.0f ? 11.0f : a;  // the argument is 112 there
  vec::Scaled<float> e = vec::exp2_parts(vec::gelu_argument(a) * -vec::log2e_d);
  float y = vec::over_one_plus(x < 0.0f ? vec::value(e, a) : a, vec::value(e));
  return x > 11.0f ? x : vec::copysign(y, x);
}
GENESIS_VEC double vgelu_tanh(double x) {
  double c = x < -23.0 ? -23.0 : x;
  return x < -23.0 ? -0.0 : x * vsigmoid(vec::gelu_argument(c));
}

GENESIS_VEC double vgelu_tanh_grad(double x) {
  double c = x > 23.0 ? 23.0 : x < -23.0 ? -23.0 : x;
  double s = vsigmoid(vec::gelu_argument(c));
  return s + c * s * (1.0 - s) * vec::gelu_argument_grad(c);
}
GENESIS_VEC float vgelu_tanh_grad(float x) {
  float a = vec::abs(x);
  float c = vec::copysign(a > 11.0f ? 11.0f : a, x);
  float u = static_cast<float>(vec::gelu_argument(c));
  float s = vsigmoid(u);
  return vec::fma(c * static_cast<float>(vec::gelu_argument_grad(c)), s * vsigmoid(-u), s);
}

// pow, hypot

// 2^(y log2|x|) with the logarithm in double, followed by the special cases of the C standard.
GENESIS_VEC float vpow(float x, float y) {
  float ax = vec::abs(x);
  vec::Reduced<double> d = vec::log_reduce(static_cast<double>(ax));
  double p = vec::poly(d.f, 1.44269504087, -0.721347520869, 0.480898361397, -0.360673674796, 0.288537293138,
                       -0.240453166686, 0.20617537313, -0.180300596798, 0.158769597066, -0.143156254017, 0.14474943234,
                       -0.142841200375, 0.077370930601);
  double log2 = vec::fma(d.f, p, d.e);
  double infinity = vec::inf;
  log2 = ax < vec::inf ? log2 : static_cast<double>(ax);
  log2 = ax == 0.0f ? -infinity : log2;
  // 1^inf is 1: replacing infinity by a large finite number makes 0 * y zero and still overflows elsewhere.
  float ay = vec::abs(y);
  double yd = vec::copysign(ay > 1e30f ? 1e30f : ay, y);
  double t = log2 * yd;
  t = t > 160.0 ? 160.0 : t;
  t = t < -160.0 ? -160.0 : t;
  float r = vec::value(vec::exp2_parts(t));

  double half = 0.5 * yd;
  bool integer = (yd + vec::magic_d) - vec::magic_d == yd;
  bool even = (half + vec::magic_d) - vec::magic_d == half;
  bool negative = vec::bits(x) & vec::sign_bit;
  float odd = negative ? -r : r;
  r = even ? r : integer ? odd : r;
  bool undefined = (x < 0.0f) & (ax < vec::inf) & !integer;
  r = undefined ? vec::nan : r;
  return ((x == 1.0f) | (y == 0.0f)) ? 1.0f : r;
}
GENESIS_VEC double vpow(double x, double y) { return std::pow(x, y); }

GENESIS_VEC float vhypot(float x, float y) {
  double a = x, b = y;
  float r = static_cast<float>(std::sqrt(vec::fma(a, a, b * b)));
  bool infinite = int(vec::abs(x) == vec::inf) | int(vec::abs(y) == vec::inf);
  return infinite ? vec::inf : r;
}
GENESIS_VEC double vhypot(double x, double y) { return std::hypot(x, y); }

}  // namespace genesis::kernels::GENESIS_ISA
