// The AVX-512 intrinsics that the kernels use, a lane at a time, for processors without them. A build with
// GENESIS_EMULATE_AVX512 includes this before everything else, so that the code for vectors of 64 bytes, its tiles and
// its tails can be tested where only AVX2 runs. An intrinsic that is missing here fails to compile.
#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#define __AVX512F__ 1
#define __AVX512BW__ 1
#define __AVX512DQ__ 1
#define __AVX512VL__ 1

namespace emulated {

typedef int32_t Words __attribute__((vector_size(64)));
typedef uint16_t Halves __attribute__((vector_size(32)));

template <class T, class V>
V load(V empty, uint32_t mask, const void* p) {
  for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i)
    if (mask >> i & 1) {
      T x;
      std::memcpy(&x, static_cast<const char*>(p) + i * sizeof x, sizeof x);
      empty[i] = x;
    }
  return empty;
}

template <class T, class V>
void store(void* p, uint32_t mask, V v) {
  for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i)
    if (mask >> i & 1) {
      const T x = v[i];
      std::memcpy(static_cast<char*>(p) + i * sizeof x, &x, sizeof x);
    }
}

template <class V>
V fma(V a, V b, V c) {
  for (unsigned i = 0; i < sizeof(V) / sizeof(a[0]); ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return c;
}

template <class V>
V compress(uint32_t mask, V v) {
  V to{};
  for (unsigned i = 0, n = 0; i < sizeof(V) / sizeof(v[0]); ++i)
    if (mask >> i & 1) to[n++] = v[i];
  return to;
}

template <class V>
V expand(V to, uint32_t mask, V v) {
  for (unsigned i = 0, n = 0; i < sizeof(V) / sizeof(v[0]); ++i)
    if (mask >> i & 1) to[i] = v[n++];
  return to;
}

inline __m512 insert(__m512 v, __m128 part, int at) {
  for (int i = 0; i < 4; ++i) v[4 * at + i] = part[i];
  return v;
}

inline __m512 widen(uint32_t mask, __m256i halves) {
  const __m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(halves));
  const __m256 high = _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1));
  __m512 to{};
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1) to[i] = i < 8 ? low[i] : high[i - 8];
  return to;
}

inline __m256i narrow(uint32_t mask, __m512 v) {
  Halves to{};
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1) to[i] = _cvtss_sh(v[i], _MM_FROUND_TO_NEAREST_INT);
  return (__m256i)to;
}

inline __m512i words(uint32_t mask, __m256i v) {
  Words to{};
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1) to[i] = ((Halves)v)[i];
  return (__m512i)to;
}

inline __m256i halves(uint32_t mask, __m512i v) {
  Halves to{};
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1) to[i] = static_cast<uint16_t>(((Words)v)[i]);
  return (__m256i)to;
}

template <int predicate>
  requires(predicate == _CMP_ORD_Q)
__mmask16 compare(__m512 a, __m512 b) {
  unsigned mask = 0;
  for (int i = 0; i < 16; ++i) mask |= (a[i] == a[i] && b[i] == b[i] ? 1u : 0u) << i;
  return static_cast<__mmask16>(mask);
}

inline __mmask16 test(uint32_t mask, __m512i a, __m512i b) {
  unsigned set = 0;
  for (int i = 0; i < 16; ++i) set |= ((((Words)a)[i] & ((Words)b)[i]) != 0 ? 1u : 0u) << i;
  return static_cast<__mmask16>(set & mask);
}

inline __m512i add(__m512i otherwise, uint32_t mask, __m512i a, __m512i b) {
  Words to = (Words)otherwise;
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1) to[i] = static_cast<int32_t>(uint32_t(((Words)a)[i]) + uint32_t(((Words)b)[i]));
  return (__m512i)to;
}

inline __m512i copy(const void* p) {
  __m512i v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

}  // namespace emulated

#define _mm256_maskz_loadu_epi16(mask, p) (__m256i) emulated::load<uint16_t>(emulated::Halves{}, mask, p)
#define _mm256_mask_storeu_epi16(p, mask, v) emulated::store<uint16_t>(p, mask, (emulated::Halves)(v))
#define _mm512_castps128_ps512(v) emulated::insert(__m512{}, v, 0)
#define _mm512_cmp_ps_mask(a, b, predicate) emulated::compare<predicate>(a, b)
#define _mm512_fmadd_pd(a, b, c) emulated::fma(a, b, c)
#define _mm512_fmadd_ps(a, b, c) emulated::fma(a, b, c)
#define _mm512_insertf32x4(v, part, at) emulated::insert(v, part, at)
#define _mm512_loadu_si512(p) emulated::copy(p)
#define _mm512_mask_add_epi32(otherwise, mask, a, b) emulated::add(otherwise, mask, a, b)
#define _mm512_mask_expand_pd(empty, mask, v) emulated::expand(empty, mask, v)
#define _mm512_mask_expand_ps(empty, mask, v) emulated::expand(empty, mask, v)
#define _mm512_mask_storeu_pd(p, mask, v) emulated::store<double>(p, mask, v)
#define _mm512_mask_storeu_ps(p, mask, v) emulated::store<float>(p, mask, v)
#define _mm512_mask_test_epi32_mask(mask, a, b) emulated::test(mask, a, b)
#define _mm512_maskz_compress_pd(mask, v) emulated::compress(mask, v)
#define _mm512_maskz_compress_ps(mask, v) emulated::compress(mask, v)
#define _mm512_maskz_cvtepi32_epi16(mask, v) emulated::halves(mask, v)
#define _mm512_maskz_cvtepu16_epi32(mask, v) emulated::words(mask, v)
#define _mm512_maskz_cvtph_ps(mask, v) emulated::widen(mask, v)
#define _mm512_maskz_cvtps_ph(mask, v, rounding) emulated::narrow(mask, v)
#define _mm512_maskz_loadu_pd(mask, p) emulated::load<double>(__m512d{}, mask, p)
#define _mm512_maskz_loadu_ps(mask, p) emulated::load<float>(__m512{}, mask, p)
#define _mm512_set1_epi32(x) (__m512i)(emulated::Words{} + (x))
#define _mm512_stream_si512(p, v) std::memcpy(p, &(const __m512i&)(v), sizeof(__m512i))
