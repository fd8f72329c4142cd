// Conversion between half precision and float32: full vectors if the processor converts them, and lines of any length.
// Included by kernel files, which are compiled per instruction set.
#pragma once

#include <cstring>
#include <type_traits>

#include "core/dtype.h"
#include "kernels/kernel.h"

#if defined(__F16C__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// Defined if the processor converts vectors.
#if defined(__F16C__) || defined(__aarch64__)
#define GENESIS_HALF_VECTORS 1
#endif

namespace genesis::kernels::GENESIS_ISA {
namespace {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

inline void narrow(float x, Half& y) { y = to_half(x); }
inline void narrow(float x, BFloat16& y) { y = to_bfloat16(x); }

#if defined(GENESIS_HALF_VECTORS)

// A register of floats, and the same number of halves. load_part() and store_part() access only the first n.
#if defined(__AVX512BW__)
constexpr int kHalfLanes = 16;
typedef float Floats __attribute__((vector_size(64)));
typedef uint32_t Words __attribute__((vector_size(64)));
typedef uint16_t Halves __attribute__((vector_size(32)));

inline __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
inline Halves load_part(const void* p, int64_t n) { return (Halves)_mm256_maskz_loadu_epi16(first_lanes(n), p); }
inline Floats load_part(const float* p, int64_t n) { return (Floats)_mm512_maskz_loadu_ps(first_lanes(n), p); }
inline void store_part(void* p, Halves x, int64_t n) { _mm256_mask_storeu_epi16(p, first_lanes(n), (__m256i)x); }
inline void store_part(float* p, Floats x, int64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), (__m512)x); }

// The masked forms with a full mask: the unmasked ones start from an undefined vector, which causes compiler warnings.
constexpr __mmask16 kAll = 0xffff;
inline Floats to_floats(Halves x, Half) { return (Floats)_mm512_maskz_cvtph_ps(kAll, (__m256i)x); }
inline Words to_words(Halves x) { return (Words)_mm512_maskz_cvtepu16_epi32(kAll, (__m256i)x); }
inline Halves to_halves(Floats x, Half) {
  return (Halves)_mm512_maskz_cvtps_ph(kAll, (__m512)x, _MM_FROUND_TO_NEAREST_INT);
}
inline Halves low_halves(Words x) { return (Halves)_mm512_maskz_cvtepi32_epi16(kAll, (__m512i)x); }

// The nearest bfloat16 in the upper half of each word, as in to_bfloat16. Masks, which the compiler does not use here
// by itself, save one of five operations.
inline Words rounded(Floats x) {
  const __m512i u = (__m512i)x;
  const __mmask16 number = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_ORD_Q);
  const __mmask16 odd = _mm512_mask_test_epi32_mask(number, u, _mm512_set1_epi32(0x10000));
  const __m512i y = _mm512_mask_add_epi32(_mm512_set1_epi32(0x7fc00000), number, u, _mm512_set1_epi32(0x7fff));
  return (Words)_mm512_mask_add_epi32(y, odd, u, _mm512_set1_epi32(0x8000));
}
#elif defined(__F16C__)
constexpr int kHalfLanes = 8;
typedef float Floats __attribute__((vector_size(32)));
typedef uint32_t Words __attribute__((vector_size(32)));
typedef uint16_t Halves __attribute__((vector_size(16)));

// A memcpy of n elements would be a call. Masks are per word: pairs of halves, with an odd one handled separately.
// Masked stores are microcode on AMD processors.
inline Halves load_part(const void* p, int64_t n) {
  const __m128i pairs = _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(n / 2)), _mm_setr_epi32(0, 1, 2, 3));
  const Halves x = (Halves)_mm_maskload_epi32(static_cast<const int*>(p), pairs);
  if (n % 2 == 0) return x;
  const auto last = static_cast<uint16_t>(n - 1);
  return Halves{0, 1, 2, 3, 4, 5, 6, 7} == last ? Halves{} + static_cast<const uint16_t*>(p)[last] : x;
}
inline Floats load_part(const float* p, int64_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return (Floats)_mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane));
}
inline void store_part(void* p, Halves x, int64_t n) {
  auto* to = static_cast<uint16_t*>(p);
  __m128i rest = (__m128i)x;
  if (n & 4) {
    _mm_storeu_si64(to, rest);
    to += 4, rest = _mm_srli_si128(rest, 8);
  }
  if (n & 2) {
    _mm_storeu_si32(to, rest);
    to += 2, rest = _mm_srli_si128(rest, 4);
  }
  if (n & 1) *to = static_cast<uint16_t>(_mm_extract_epi16(rest, 0));
}
inline void store_part(float* p, Floats x, int64_t n) { std::memcpy(p, &x, static_cast<size_t>(n) * sizeof(float)); }

inline Floats to_floats(Halves x, Half) { return (Floats)_mm256_cvtph_ps((__m128i)x); }
inline Words to_words(Halves x) { return (Words)_mm256_cvtepu16_epi32((__m128i)x); }
inline Halves to_halves(Floats x, Half) { return (Halves)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT); }
inline Halves low_halves(Words x) {
  const __m256i pairs = _mm256_packus_epi32((__m256i)x, (__m256i)x);  // within each 128 bits
  return (Halves)_mm256_castsi256_si128(_mm256_permute4x64_epi64(pairs, 0b1000));
}
#else
constexpr int kHalfLanes = 4;
typedef float Floats __attribute__((vector_size(16)));
typedef uint32_t Words __attribute__((vector_size(16)));
typedef uint16_t Halves __attribute__((vector_size(8)));

// Loads lanes one by one, unrolled.
template <class V, class T>
[[gnu::always_inline]] inline V load_lanes(const T* p, int64_t n) {
  V x{};
#pragma GCC unroll 4
  for (int i = 0; i < kHalfLanes; ++i)
    if (i < n) x[i] = p[i];
  return x;
}
template <class V, class T>
[[gnu::always_inline]] inline void store_lanes(T* p, V x, int64_t n) {
#pragma GCC unroll 4
  for (int i = 0; i < kHalfLanes; ++i)
    if (i < n) p[i] = x[i];
}
inline Halves load_part(const void* p, int64_t n) { return load_lanes<Halves>(static_cast<const uint16_t*>(p), n); }
inline Floats load_part(const float* p, int64_t n) { return load_lanes<Floats>(p, n); }
inline void store_part(void* p, Halves x, int64_t n) { store_lanes(static_cast<uint16_t*>(p), x, n); }
inline void store_part(float* p, Floats x, int64_t n) { store_lanes(p, x, n); }

inline Floats to_floats(Halves x, Half) { return (Floats)vcvt_f32_f16((float16x4_t)x); }
inline Words to_words(Halves x) { return (Words)vmovl_u16((uint16x4_t)x); }
inline Halves to_halves(Floats x, Half) { return (Halves)vcvt_f16_f32((float32x4_t)x); }
inline Halves low_halves(Words x) { return (Halves)vmovn_u32((uint32x4_t)x); }
#endif

#if !defined(__AVX512BW__)
inline Words rounded(Floats x) {
  const Words u = (Words)x;
  return x != x ? Words{} + 0x7fc00000 : u + 0x7fff + ((u >> 16) & 1);
}
#endif

inline Floats to_floats(Halves x, BFloat16) { return (Floats)(to_words(x) << 16); }
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
// The instruction preserves the payload of a NaN, while to_bfloat16 returns one canonical NaN.
inline Floats one_nan(Floats x) { return x != x ? Floats{} + __builtin_nanf("") : x; }
inline Halves to_halves(Floats x, BFloat16) { return (Halves)vcvt_bf16_f32((float32x4_t)one_nan(x)); }
// The lower half of each word is from `even`, the upper half from `odd`.
inline Words to_pairs(Floats even, Floats odd) {
  const auto lower = (uint16x4_t)to_halves(even, BFloat16{}), upper = (uint16x4_t)to_halves(odd, BFloat16{});
  return (Words)vcombine_u16(vzip1_u16(lower, upper), vzip2_u16(lower, upper));
}
#else
inline Halves to_halves(Floats x, BFloat16) { return low_halves(rounded(x) >> 16); }
inline Words to_pairs(Floats even, Floats odd) { return (rounded(even) >> 16) | (rounded(odd) & 0xffff0000); }
#endif

template <class S>
[[gnu::always_inline]] inline Floats load_floats(const S* p) {
  Halves x;
  std::memcpy(&x, p, sizeof x);
  return to_floats(x, S{});
}
// Loads the first n elements; the others are 0.
template <class S>
[[gnu::always_inline]] inline Floats load_floats(const S* p, int64_t n) {
  return to_floats(load_part(static_cast<const void*>(p), n), S{});
}
template <class S>
[[gnu::always_inline]] inline void store_halves(S* p, Floats x) {
  const Halves y = to_halves(x, S{});
  std::memcpy(p, &y, sizeof y);
}

template <class S>
void widen(const S* src, float* dst, int64_t n) {
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + kHalfLanes <= n; i += kHalfLanes) {
    const Floats x = load_floats(src + i);
    std::memcpy(dst + i, &x, sizeof x);
  }
  if (i < n) store_part(dst + i, load_floats(src + i, n - i), n - i);
}

template <class S>
void narrow(const float* src, S* dst, int64_t n) {
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + kHalfLanes <= n; i += kHalfLanes) {
    Floats x;
    std::memcpy(&x, src + i, sizeof x);
    store_halves(dst + i, x);
  }
  if (i < n) store_part(static_cast<void*>(dst + i), to_halves(load_part(src + i, n - i), S{}), n - i);
}

#else

template <class S>
void widen(const S* src, float* dst, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dst[i] = genesis::to_float(src[i]);
}

template <class S>
void narrow(const float* src, S* dst, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) narrow(src[i], dst[i]);
}

#endif

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
