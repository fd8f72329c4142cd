// kernels/vecmath.h: elementary functions as branch-free scalar code, which g++ vectorises inside
//   for (i = 0; i < n; ++i) y[i] = vexp(x[i]);
//
// Errors are at most 2 ulp in float32, measured over all floats (tests/cpp/test_vecmath.cpp); infinities, NaN,
// signed zeros and subnormals are as in C's <math.h>. No function sets errno or relies on exception flags.
// Coefficients are our own minimax fits, rounded to the type one at a time, lowest power first.
//
// Compile with -O3 -fno-math-errno -fno-trapping-math (without them selects and square roots do not vectorise),
// never with -ffast-math (the splittings and the selects on NaN would be optimised away).
//
// Three tricks return throughout:
// - Adding 1.5 * 2^23 rounds a float to the nearest integer and leaves that integer in the low bits of the sum.
// - A select keeps NaN if NaN takes its "else": x > hi ? hi : x clamps, and lets NaN pass.
// - 2^n is applied as two factors, since n may reach -150 while 2^n is a normal float only down to -126.
#pragma once

#include <cmath>
#include <cstdint>

#if !defined(GENESIS_ISA)
#error "vecmath.h is for kernel files, which are compiled with -DGENESIS_ISA=..."
#endif

// Internal linkage and forced inlining: no copy compiled for one instruction set may serve another.
#define GENESIS_VEC static inline __attribute__((always_inline))

namespace genesis::kernels::GENESIS_ISA {

namespace vec {

constexpr float inf = __builtin_inff();
constexpr float nan = __builtin_nanf("");
constexpr float magic = 0x1.8p23f;
constexpr double magic_d = 0x1.8p52;
constexpr float log2e = 1.44269502f;
// Nine bits of ln 2, so that n * ln2_hi is exact without FMA too, and the rest.
constexpr float ln2_hi = 0.693359375f, ln2_lo = -0.000212194442f;
constexpr double log2e_d = 0x1.71547652b82fep+0;
constexpr double ln2_hi_d = 0x1.62e42fefa0000p-1, ln2_lo_d = 0x1.cf79abc9e3b3ap-40;

GENESIS_VEC int32_t bits(float x) { return __builtin_bit_cast(int32_t, x); }
GENESIS_VEC uint64_t bits(double x) { return __builtin_bit_cast(uint64_t, x); }
GENESIS_VEC float from_bits(int32_t i) { return __builtin_bit_cast(float, i); }
GENESIS_VEC double from_bits(uint64_t i) { return __builtin_bit_cast(double, i); }

GENESIS_VEC float abs(float x) { return __builtin_fabsf(x); }
GENESIS_VEC double abs(double x) { return __builtin_fabs(x); }
GENESIS_VEC float copysign(float y, float x) { return __builtin_copysignf(y, x); }
GENESIS_VEC double copysign(double y, double x) { return __builtin_copysign(y, x); }

// a * b + c, fused where that is one instruction. Nothing below needs the fusion for its error bound.
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

// min(|x|, limit), where NaN becomes limit; in integers, since no float minimum of C++ is one instruction.
GENESIS_VEC float clamp_abs(float x, float limit) {
  int32_t i = bits(abs(x));
  return from_bits(i < bits(limit) ? i : bits(limit));
}

// A number as (1 + y) s1 s2. A factor that comes to it is multiplied before s2, as what ends subnormal must be
// rounded once only.
template <class T>
struct Scaled {
  T y, s1, s2;
};
template <class T>
GENESIS_VEC T value(Scaled<T> e) {
  return fma(e.y, e.s1, e.s1) * e.s2;
}

// (1 + y) 2^(low bits of t - 254); 2046 for double.
GENESIS_VEC Scaled<float> scaled(float y, int32_t t) {
  int32_t half = t >> 1;
  return {y, from_bits(half << 23), from_bits((t - half) << 23)};
}
GENESIS_VEC Scaled<double> scaled(double y, uint64_t t) {
  // Unsigned, since AVX2 has no arithmetic shift of 64 bits.
  uint64_t half = t >> 1;
  return {y, from_bits(half << 52), from_bits((t - half) << 52)};
}

// r = x - n ln 2 / k, and expm1(k r) / k from it; k is a power of two with its sign.
GENESIS_VEC float exp_reduce(float x, float n, float k) {
  return fma(n, -ln2_lo / k, fma(n, -ln2_hi / k, x));
}
GENESIS_VEC float expm1_poly(float r, float k) {
  float z = r * r;
  float c0 = fma(r, 0.166665167f * (k * k), 0.49999994f * k);
  float c2 = fma(r, 0.00836925022f * (k * k * k * k), 0.041668281f * (k * k * k));
  return fma(z, fma(z, fma(z, 0.00138208002f * (k * k * k * k * k), c2), c0), r);
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
  constexpr int32_t top = __builtin_bit_cast(int32_t, biased + 129.0f);
  x = x < -104.0f ? -104.0f : x;
  // Above, it is enough to keep the exponent in range: the polynomial grows without bound.
  int32_t t = vec::bits(vec::fma(x, vec::log2e, biased));
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
  constexpr int32_t top = __builtin_bit_cast(int32_t, biased + 129.0f);
  x = x < -151.0f ? -151.0f : x;
  int32_t t = vec::bits(x + biased);
  t = t < top ? t : top;
  float r = x - (vec::from_bits(t) - biased);
  float q = vec::poly(r, 0.693147182f, 0.240226507f, 0.0555035956f, 0.00961806253f, 0.00133909856f, 0.000154628593f);
  return vec::value(vec::scaled(q * r, t));
}

// log

namespace vec {

struct Reduced {
  float e, f;  // x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
};

GENESIS_VEC Reduced log_reduce(float x) {
  constexpr int32_t sqrt_half = 0x3F3504F3;
  bool tiny = x < 0x1p-126f;
  float scale = tiny ? 0x1p23f : 1.0f;
  int32_t base = tiny ? sqrt_half + (23 << 23) : sqrt_half;
  int32_t i = bits(x * scale) - base;
  return {static_cast<float>(i >> 23), from_bits((i & 0x007FFFFF) + sqrt_half) - 1.0f};
}

// The results where x is not a positive finite number.
GENESIS_VEC float log_special(float x, float y) {
  float finite = x < inf ? y : x;
  float zero = x == 0.0f ? -inf : nan;
  return x > 0.0f ? finite : zero;
}

// e ln 2 + log(1 + f)
GENESIS_VEC float log_join(float e, float f) {
  float p = poly(f, 0.333333313f, -0.250008196f, 0.200012416f, -0.166234091f, 0.1420158f, -0.131596118f,
                 0.127622232f, -0.0763644502f);
  float t = fma(e, ln2_lo, f * f * fma(f, p, -0.5f));
  return fma(e, ln2_hi, f + t);
}

}  // namespace vec

GENESIS_VEC float vlog(float x) {
  vec::Reduced d = vec::log_reduce(x);
  return vec::log_special(x, vec::log_join(d.e, d.f));
}

// tanh, sigmoid, silu

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
  // While h is small, h - h y carries less of the rounding of 1 + h.
  return vec::copysign(h < 0.5f ? vec::fma(-h, y, h) : y, x);
}

namespace vec {

// y / (1 + e), e in [0, 1]; the rounding of 1 + e is put right to first order.
GENESIS_VEC float over_one_plus(float y, float e) {
  float d = 1.0f + e;
  float lost = (d - 1.0f) - e;
  float q = y / d;
  return fma(q, lost, q);
}

}  // namespace vec

GENESIS_VEC float vsigmoid(float x) {
  float a = vec::abs(x);
  float e = vec::value(vec::exp_minus(a > 104.0f ? 104.0f : a));
  return vec::over_one_plus(x < 0.0f ? e : 1.0f, e);
}

// x * sigmoid(x); x multiplies before the scale, as exp(x) is subnormal where the product is not yet.
GENESIS_VEC float vsilu(float x) {
  float a = vec::abs(x);
  a = a > 110.0f ? 110.0f : a;
  vec::Scaled<float> e = vec::exp_minus(a);
  float p = vec::fma(e.y, e.s1, e.s1);
  float y = vec::over_one_plus(x < 0.0f ? a * p * e.s2 : a, p * e.s2);
  return x > 110.0f ? x : vec::copysign(y, x);
}

// erf, gelu

GENESIS_VEC float verf(float x) {
  constexpr float biased = vec::magic + 127.0f;
  float z = x * x;
  float small = vec::fma(x,
                         vec::poly(z, 0.128379166f, -0.376125902f, 0.11282865f, -0.0268072877f, 0.0050577037f,
                                   -0.000634851865f),
                         x);
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

namespace vec {

struct Tail {
  float r;          // Phi(-a) = r exp(-a^2 / 2)
  Scaled<float> e;  // exp(-a^2 / 2)
};

// Phi(-a), the normal distribution function, to relative precision for a in [0, 14.6].
GENESIS_VEC Tail normal_tail(float a) {
  float r = poly(a, 0.5f, 0.437796235f, 0.182829291f, 0.0404858552f, 0.00409131125f) /
            poly(a, 1.0f, 1.67347729f, 1.2008965f, 0.468389839f, 0.101489455f, 0.0102552772f);
  // a^2 = hi + lo exactly, as exp multiplies an error in its argument by up to 100.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  float hi = a * a;
  float lo = fma(a, a, -hi);
#else
  float head = from_bits(bits(a) & ~0xFFF);
  float hi = head * head;
  float lo = (a - head) * (a + head);
#endif
  constexpr float biased = magic + 254.0f;
  float t = fma(hi, -0.5f * log2e, biased);
  return {r, scaled(-0.5f * expm1_poly(exp_reduce(hi, t - biased, -0.5f) + lo, -0.5f), bits(t))};
}

}  // namespace vec

// x Phi(x). The limit at -inf is -0 here (0.5 x (1 + erf(x / sqrt 2)) would give NaN there).
GENESIS_VEC float vgelu(float x) {
  float a = vec::clamp_abs(x, 14.6f);
  vec::Tail t = vec::normal_tail(a);
  float tail = a * t.r * vec::fma(t.e.y, t.e.s1, t.e.s1) * t.e.s2;
  return x < 0.0f ? -tail : x - tail;
}

// d/dx x Phi(x) = Phi(x) + x phi(x)
GENESIS_VEC float vgelu_grad(float x) {
  float a = vec::clamp_abs(x, 14.6f);
  vec::Tail t = vec::normal_tail(a);
  float tail = vec::fma(a, -0.398942280f, t.r) * vec::fma(t.e.y, t.e.s1, t.e.s1) * t.e.s2;
  float y = x < 0.0f ? tail : 1.0f - tail;
  return x == x ? y : x;
}

// sin, cos: right up to |x| = vec::trig_limit; see vsin_tile for what comes beyond.

namespace vec {

constexpr float trig_limit = 1e5f;

struct Quadrant {
  float r;    // |x| = q pi/2 + r, |r| <= pi/4 and a little
  int32_t q;  // modulo 2^22
};

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
// pi/2 in three parts. The first step is exact, and each next one rounds to a precision relative to its own result,
// which is what a small r needs.
GENESIS_VEC Quadrant trig_reduce(float x) {
  float a = abs(x);
  float t = fma(a, 0.636619747f, magic);
  float n = t - magic;
  return {fma(n, 1.71512451e-15f, fma(n, 4.37113883e-08f, fma(n, -1.57079637f, a))), bits(t)};
}
#else
GENESIS_VEC Quadrant trig_reduce(float x) {
  double a = abs(x);
  double t = a * 0x1.45f306dc9c883p-1 + magic_d;
  double n = t - magic_d;
  double r = (a - n * 0x1.921fb54400000p+0) - n * 0x1.0b4611a626331p-34;
  return {static_cast<float>(r), static_cast<int32_t>(bits(t))};
}
#endif

GENESIS_VEC float sin_poly(float r, float z) {
  return fma(r * z, poly(z, -0.166666538f, 0.00833210628f, -0.000195078828f), r);
}
GENESIS_VEC float cos_poly(float z) {
  return fma(z * z, poly(z, 0.0416666456f, -0.00138873002f, 2.44305302e-05f), fma(z, -0.5f, 1.0f));
}

}  // namespace vec

GENESIS_VEC float vsin(float x) {
  vec::Quadrant d = vec::trig_reduce(x);
  float z = d.r * d.r;
  float y = d.q & 1 ? vec::cos_poly(z) : vec::sin_poly(d.r, z);
  int32_t sign = (d.q << 30) ^ vec::bits(x);
  return vec::from_bits(vec::bits(y) ^ (sign & INT32_MIN));
}

GENESIS_VEC float vcos(float x) {
  vec::Quadrant d = vec::trig_reduce(x);
  float z = d.r * d.r;
  float y = d.q & 1 ? vec::sin_poly(d.r, z) : vec::cos_poly(z);
  int32_t sign = (d.q + 1) << 30;
  return vec::from_bits(vec::bits(y) ^ (sign & INT32_MIN));
}

}  // namespace genesis::kernels::GENESIS_ISA
