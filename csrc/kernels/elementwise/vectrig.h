// Trigonometric functions and their inverses, in the style of vecmath.h.
#pragma once

#include "kernels/elementwise/vecmath.h"

namespace genesis::kernels::GENESIS_ISA {

// sin, cos, tan: accurate up to |x| = vec::trig_limit. The tile functions below handle larger arguments.

namespace vec {

constexpr float trig_limit = 1e5f;

struct Quadrant {
  float r;     // |x| = q pi/2 + r, |r| <= pi/4 plus rounding
  uint32_t q;  // in its low bits
};

struct QuadrantDouble {
  double r;
  uint32_t q;
};

// pi/2 in two parts, the first with 33 bits. Valid up to 2^28.
GENESIS_VEC QuadrantDouble trig_reduce_double(float x) {
  double a = abs(x);
  double t = fma(a, 0x1.45f306dc9c883p-1, magic_d);
  double n = t - magic_d;
  return {fma(n, -0x1.0b4611a626331p-34, fma(n, -0x1.921fb54400000p+0, a)), static_cast<uint32_t>(bits(t))};
}

GENESIS_VEC Quadrant trig_reduce(float x) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  // pi/2 in three parts. The first step is exact, and each following step rounds relative to its own result, as a small
  // r requires.
  float a = abs(x);
  float t = fma(a, 0.636619747f, magic);
  float n = t - magic;
  return {fma(n, 1.71512451e-15f, fma(n, 4.37113883e-08f, fma(n, -1.57079637f, a))), bits(t)};
#else
  QuadrantDouble d = trig_reduce_double(x);
  return {static_cast<float>(d.r), d.q};
#endif
}

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
  uint32_t sign = (d.q << 30) ^ vec::bits(x);
  return vec::from_bits(vec::bits(y) ^ (sign & vec::sign_bit));
}

GENESIS_VEC float vcos(float x) {
  vec::Quadrant d = vec::trig_reduce(x);
  float z = d.r * d.r;
  float y = d.q & 1 ? vec::sin_poly(d.r, z) : vec::cos_poly(z);
  uint32_t sign = (d.q + 1) << 30;
  return vec::from_bits(vec::bits(y) ^ (sign & vec::sign_bit));
}

GENESIS_VEC float vtan(float x) {
  vec::QuadrantDouble d = vec::trig_reduce_double(x);
  float r = static_cast<float>(d.r);
  float low = static_cast<float>(d.r - r);
  float z = r * r;
  float p = vec::poly(z, 0.333333492f, 0.133326694f, 0.0540599711f, 0.0212794226f, 0.010847575f, 7.01646131e-05f,
                      0.00438760268f);
  float t = r + vec::fma(r * z, p, vec::fma(low, z, low));  // tan' = 1 + tan^2 is approximately 1 + z
  float y = d.q & 1 ? -1.0f / t : t;
  return vec::from_bits(vec::bits(y) ^ (vec::bits(x) & vec::sign_bit));
}

GENESIS_VEC double vsin(double x) { return std::sin(x); }
GENESIS_VEC double vcos(double x) { return std::cos(x); }
GENESIS_VEC double vtan(double x) { return std::tan(x); }

namespace vec {

// y[i] = fast(x[i]), or slow(x[i]) if |x[i]| exceeds the limit. y may be x.
template <class Fast, class Slow>
GENESIS_VEC void trig_tile(float* y, const float* x, int64_t n, Fast fast, Slow slow) {
  constexpr int64_t block = 1024;
  float saved[block];
  for (int64_t start = 0; start < n; start += block, x += block, y += block) {
    int64_t size = n - start < block ? n - start : block;
    const float* in = x;
    if (y == x) {
      __builtin_memcpy(saved, x, size * sizeof(float));
      in = saved;
    }
    uint32_t largest = 0;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      uint32_t magnitude = bits(in[i]) & ~sign_bit;
      largest = magnitude > largest ? magnitude : largest;
      y[i] = fast(in[i]);
    }
    if (largest <= bits(trig_limit)) continue;
    for (int64_t i = 0; i < size; ++i) {
      if (abs(in[i]) > trig_limit) y[i] = slow(in[i]);
    }
  }
}

}  // namespace vec

GENESIS_VEC void vsin_tile(float* y, const float* x, int64_t n) {
  vec::trig_tile(
      y, x, n, [](float v) __attribute__((always_inline)) { return vsin(v); },
      [](double v) { return static_cast<float>(std::sin(v)); });
}
GENESIS_VEC void vcos_tile(float* y, const float* x, int64_t n) {
  vec::trig_tile(
      y, x, n, [](float v) __attribute__((always_inline)) { return vcos(v); },
      [](double v) { return static_cast<float>(std::cos(v)); });
}
GENESIS_VEC void vtan_tile(float* y, const float* x, int64_t n) {
  vec::trig_tile(
      y, x, n, [](float v) __attribute__((always_inline)) { return vtan(v); },
      [](double v) { return static_cast<float>(std::tan(v)); });
}

// asin, acos, atan, atan2

namespace vec {

constexpr float pio2_hi = 1.57079637f, pio2_lo = -4.37113883e-08f;

// asin(s) - s, z = s^2, s <= 1/2
GENESIS_VEC float asin_tail(float s, float z) {
  return s * z * poly(z, 0.166667536f, 0.0749524757f, 0.0454772599f, 0.0241428036f, 0.0422329754f);
}

// atan(t), t in [0, 1]
GENESIS_VEC float atan_poly(float t) {
  float z = t * t;
  float p = poly(z, -0.333332986f, 0.199985296f, -0.142640159f, 0.10950882f, -0.0839932039f, 0.057881888f,
                 -0.0310978219f, 0.0108693596f, -0.0017830315f);
  return fma(t * z, p, t);
}

}  // namespace vec

// Above 1/2, uses asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)).
GENESIS_VEC float vasin(float x) {
  float a = vec::abs(x);
  bool large = a > 0.5f;
  float z = large ? vec::fma(a, -0.5f, 0.5f) : a * a;
  float s = large ? std::sqrt(z) : a;
  float tail = vec::asin_tail(s, z);
  float d = vec::pio2_hi - 2.0f * s;
  float lost = (vec::pio2_hi - d) - 2.0f * s;
  float y = d + (lost - vec::fma(tail, 2.0f, -vec::pio2_lo));
  return vec::copysign(large ? y : s + tail, x);
}
GENESIS_VEC double vasin(double x) { return std::asin(x); }

GENESIS_VEC float vacos(float x) {
  float a = vec::abs(x);
  bool large = a > 0.5f;
  float z = large ? vec::fma(a, -0.5f, 0.5f) : a * a;
  float s = large ? std::sqrt(z) : a;
  float p = s + vec::asin_tail(s, z);
  float middle = vec::pio2_hi - (vec::copysign(p, x) - vec::pio2_lo);
  float right = p + p;
  float left = 2.0f * vec::pio2_hi - vec::fma(p, 2.0f, -2.0f * vec::pio2_lo);
  float outer = x < 0.0f ? left : right;
  return large ? outer : middle;
}
GENESIS_VEC double vacos(double x) { return std::acos(x); }

GENESIS_VEC float vatan(float x) {
  float a = vec::abs(x);
  bool large = a > 1.0f;
  float p = vec::atan_poly((large ? 1.0f : a) / (large ? a : 1.0f));
  float y = vec::pio2_hi - (p - vec::pio2_lo);
  return vec::copysign(large ? y : p, x);
}
GENESIS_VEC double vatan(double x) { return std::atan(x); }

GENESIS_VEC float vatan2(float y, float x) {
  float ax = vec::abs(x), ay = vec::abs(y);
  bool steep = ay > ax;
  float hi = steep ? ay : ax;
  float lo = steep ? ax : ay;
  float t = lo / hi;
  t = hi == 0.0f ? 0.0f : t;
  t = lo == vec::inf ? 1.0f : t;
  float p = vec::atan_poly(t);
  float complement = vec::pio2_hi - (p - vec::pio2_lo);
  p = steep ? complement : p;
  float mirrored = 2.0f * vec::pio2_hi - (p - 2.0f * vec::pio2_lo);
  p = (vec::bits(x) & vec::sign_bit) ? mirrored : p;
  p = ((x == x) & (y == y)) ? p : vec::nan;
  return vec::copysign(p, y);
}
GENESIS_VEC double vatan2(double y, double x) { return std::atan2(y, x); }

}  // namespace genesis::kernels::GENESIS_ISA
