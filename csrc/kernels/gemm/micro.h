// The building blocks of gemm.cpp besides the register tile (gemm/tile.h): vectors of the instruction set that the
// including file is compiled for, packing, and the dot-product tile. Everything is a template on float or double.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tile.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// ----- Vectors -----

template <class T, int bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
};
template <class T>
using Vec = typename VectorOf<T, kVectorBytes>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class T>
constexpr int kQuad = 16 / static_cast<int>(sizeof(T));  // lanes in 128 bits, within which shuffles are cheap

template <class T>
Vec<T> load(const T* p) {
  Vec<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void store(T* p, Vec<T> v) {
  std::memcpy(p, &v, sizeof v);
}
template <class T>
Vec<T> broadcast(T x) {
  return x - Vec<T>{};
}

// Writes an aligned vector with a non-temporal store (see elementwise/stream.h).
template <class T>
void stream_vector(T* p, Vec<T> v) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)v);
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)v);
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)v);
#else
  store(p, v);
#endif
}

// The lanes of a vector that exist in memory: the first `count`, or [first, end).
#if defined(__AVX512F__)
constexpr bool kFastMasks = true;
template <class T>
struct Mask {
  uint32_t bits;
  explicit Mask(int64_t count) : bits((1u << count) - 1u) {}
  Mask(int64_t first, int64_t end) : bits(((1u << end) - 1u) & -(1u << first)) {}
};
inline __m512 fma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
inline __m512d fma(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
inline __m512 load(const float* p, Mask<float> mask) { return _mm512_maskz_loadu_ps(mask.bits, p); }
inline __m512d load(const double* p, Mask<double> mask) { return _mm512_maskz_loadu_pd(mask.bits, p); }
inline void store(float* p, __m512 v, Mask<float> mask) { _mm512_mask_storeu_ps(p, mask.bits, v); }
inline void store(double* p, __m512d v, Mask<double> mask) { _mm512_mask_storeu_pd(p, mask.bits, v); }
#elif defined(__AVX2__)
constexpr bool kFastMasks = true;
template <class T>
struct Mask {
  int64_t first, end;
  __m256i bits;
  explicit Mask(int64_t count) : first(0), end(count), bits(below(count)) {}
  Mask(int64_t first, int64_t end) : first(first), end(end), bits(_mm256_andnot_si256(below(first), below(end))) {}
  static __m256i below(int64_t lane) {
    if constexpr (sizeof(T) == 4)
      return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lane)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    else return _mm256_cmpgt_epi64(_mm256_set1_epi64x(lane), _mm256_setr_epi64x(0, 1, 2, 3));
  }
};
inline __m256 fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
inline __m256d fma(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
inline __m256 load(const float* p, Mask<float> mask) { return _mm256_maskload_ps(p, mask.bits); }
inline __m256d load(const double* p, Mask<double> mask) { return _mm256_maskload_pd(p, mask.bits); }
// Masked stores are microcode on AMD processors, so leading lanes are stored in halves, quarters, ...
inline void store(float* p, __m256 v, Mask<float> mask) {
  if (mask.first != 0) return _mm256_maskstore_ps(p, mask.bits, v);
  if (mask.end & 8) return _mm256_storeu_ps(p, v);
  __m128 rest = _mm256_castps256_ps128(v);
  if (mask.end & 4) {
    _mm_storeu_ps(p, rest);
    p += 4, rest = _mm256_extractf128_ps(v, 1);
  }
  if (mask.end & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    p += 2, rest = _mm_movehl_ps(rest, rest);
  }
  if (mask.end & 1) _mm_store_ss(p, rest);
}
inline void store(double* p, __m256d v, Mask<double> mask) {
  if (mask.first != 0) return _mm256_maskstore_pd(p, mask.bits, v);
  if (mask.end & 4) return _mm256_storeu_pd(p, v);
  __m128d rest = _mm256_castpd256_pd128(v);
  if (mask.end & 2) {
    _mm_storeu_pd(p, rest);
    p += 2, rest = _mm256_extractf128_pd(v, 1);
  }
  if (mask.end & 1) _mm_store_sd(p, rest);
}
#else
constexpr bool kFastMasks = false;
template <class T>
struct Mask {
  int64_t first, end;
  explicit Mask(int64_t count) : Mask(0, count) {}
  Mask(int64_t first, int64_t end) : first(first), end(end) {}
};
#if defined(__aarch64__)
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return (Vec<float>)vfmaq_f32(c, a, b); }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return (Vec<double>)vfmaq_f64(c, a, b); }
#else
template <class V>
V fma(V a, V b, V c) {
  return a * b + c;
}
#endif
// Unrolled, because the compiler would keep a vector with a variable index in memory.
template <class T>
[[gnu::always_inline]] inline Vec<T> load(const T* p, Mask<T> mask) {
  Vec<T> v{};
#pragma GCC unroll 4
  for (int i = 0; i < kLanes<T>; ++i)
    if (i >= mask.first && i < mask.end) v[i] = p[i];
  return v;
}
template <class T>
[[gnu::always_inline]] inline void store(T* p, Vec<T> v, Mask<T> mask) {
#pragma GCC unroll 4
  for (int i = 0; i < kLanes<T>; ++i)
    if (i >= mask.first && i < mask.end) p[i] = v[i];
}
#endif

// ----- Transposing and packing -----

// Interleaves the lower (or upper) halves of each 128 bits of x and y, in units of `unit` lanes.
template <class T, int unit, bool upper>
[[gnu::always_inline]] inline Vec<T> interleave(Vec<T> x, Vec<T> y) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    constexpr int quad = kQuad<T>, lanes = kLanes<T>;
    return __builtin_shufflevector(x, y,
                                   (i / quad * quad + i % quad / unit % 2 * lanes + i % quad / unit / 2 * unit +
                                    i % unit + (upper ? quad / 2 : 0))...);
  }(std::make_integer_sequence<int, kLanes<T>>{});
}

// The vector whose 128-bit pieces start at rows[0], rows[quad], rows[2 * quad], ...
template <class T>
[[gnu::always_inline]] inline Vec<T> load_pieces(const T* const* rows, int64_t offset) {
  constexpr int quad = kQuad<T>;
  auto piece = [&](int i) { return reinterpret_cast<const float*>(rows[i * quad] + offset); };
#if defined(__AVX512F__)
  __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(piece(0)));
  v = _mm512_insertf32x4(v, _mm_loadu_ps(piece(1)), 1);
  v = _mm512_insertf32x4(v, _mm_loadu_ps(piece(2)), 2);
  return (Vec<T>)_mm512_insertf32x4(v, _mm_loadu_ps(piece(3)), 3);
#elif defined(__AVX2__)
  return (Vec<T>)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(piece(0))), _mm_loadu_ps(piece(1)), 1);
#else
  Vec<T> v;
  std::memcpy(&v, piece(0), sizeof v);
  return v;
#endif
}

// out[q] receives rows[0][offset + q], rows[1][offset + q], ... for 0 <= q < kQuad.
template <class T>
[[gnu::always_inline]] inline void transpose(const T* const* rows, int64_t offset, Vec<T>* out) {
  const Vec<T> x0 = load_pieces(rows, offset), x1 = load_pieces(rows + 1, offset);
  const Vec<T> lower = interleave<T, 1, false>(x0, x1), upper = interleave<T, 1, true>(x0, x1);
  if constexpr (kQuad<T> == 2) {
    out[0] = lower;
    out[1] = upper;
  } else {
    const Vec<T> x2 = load_pieces(rows + 2, offset), x3 = load_pieces(rows + 3, offset);
    const Vec<T> lower2 = interleave<T, 1, false>(x2, x3), upper2 = interleave<T, 1, true>(x2, x3);
    out[0] = interleave<T, 2, false>(lower, lower2);
    out[1] = interleave<T, 2, true>(lower, lower2);
    out[2] = interleave<T, 2, false>(upper, upper2);
    out[3] = interleave<T, 2, true>(upper, upper2);
  }
}

// Pointers to `count` rows, padded to a full vector by repeating the last one, so that all of them can be read.
template <class T>
struct Rows {
  const T* at[kLanes<T>];
  Rows(const T* data, int64_t stride, int64_t count) {
    for (int64_t i = 0; i < kLanes<T>; ++i) at[i] = data + std::min(i, count - 1) * stride;
  }
};

// Copies rows of `count` elements, at least one vector. The last vector overlaps the previous one.
template <class T, int vectors = 1>
void copy_rows(const T* src, int64_t src_row, T* dst, int64_t dst_row, int64_t rows, int64_t count) {
  constexpr int lanes = kLanes<T>;
  constexpr bool any = vectors > kMaxVectors;
  if constexpr (!any) {
    if (count > vectors * lanes) return copy_rows<T, vectors + 1>(src, src_row, dst, dst_row, rows, count);
  }
  const int64_t last = count - lanes, whole = any ? last : (vectors - 1) * lanes;
  for (int64_t i = 0; i < rows; ++i, src += src_row, dst += dst_row) {
    for (int64_t j = 0; j < whole; j += lanes) store(dst + j, load(src + j));
    store(dst + last, load(src + last));
  }
}

// Packs k x count elements, src[i * stride + p * k_stride], into consecutive panels of `width` lanes: panel t starts at
// lane t * width and stores step p of k at dst + t * width * k + p * width. Lanes beyond `count` are undefined. Full
// vectors may spill into steps that are written later, because masked stores are slow on AMD.
template <class T>
void pack(const T* src, int64_t stride, int64_t k_stride, int64_t count, int64_t k, T* dst, int64_t width) {
  constexpr int lanes = kLanes<T>, quad = kQuad<T>;
  const int64_t whole = std::max<int64_t>(0, k - (lanes - 1) / width);  // steps of a panel at which a full vector fits
  if (stride == 1) {  // contiguous lanes: a few steps at a time, so that their cache lines are reused by the next panel
    constexpr int64_t steps = 16, line = 64 / sizeof(T);
    for (int64_t begin = 0; begin < k; begin += steps)
      for (int64_t t = 0; t < count; t += width) {
        const int64_t filled = std::min(width, count - t), end = std::min(k, begin + steps);
        const T* s = src + begin * k_stride + t;
        T* d = dst + t * k + begin * width;
        if (t % line < width && end < k)
          for (int64_t p = 0; p < steps; ++p) __builtin_prefetch(s + (steps + p) * k_stride);
        if (filled >= lanes) {
          copy_rows(s, k_stride, d, width, end - begin, filled);
          continue;
        }
        const Mask<T> mask(filled);
        int64_t p = begin;
        for (; p < std::min(end, whole); ++p, s += k_stride, d += width) store(d, load(s, mask));
        for (; p < end; ++p, s += k_stride, d += width) store(d, load(s, mask), mask);
      }
    return;
  }
  for (int64_t t = 0; t < count; t += width, dst += width * k) {
    const int64_t end = std::min(width, count - t);
    for (int64_t block = 0; block < end; block += lanes) {
      const int64_t filled = std::min<int64_t>(end, lanes), i = std::min(block, end - filled);
      const T* s = src + (t + i) * stride;
      T* d = dst + i;
      int64_t p = 0;
      if (k_stride == 1) {
        const Rows<T> rows(s, stride, filled);
        for (; p + quad <= k; p += quad) {
          Vec<T> column[quad];
          transpose(rows.at, p, column);
          T* out = d + p * width;
          if (filled == lanes || p + quad <= whole) {
            for (int q = 0; q < quad; ++q) store(out + q * width, column[q]);
          } else {
            const Mask<T> mask(filled);
            for (int q = 0; q < quad; ++q) store(out + q * width, column[q], mask);
          }
        }
      }
      for (; p < k; ++p)
        for (int64_t l = 0; l < filled; ++l) d[p * width + l] = s[l * stride + p * k_stride];
    }
  }
}

// C = x + beta * D, where C and D have any strides and x is a tile in a buffer with row stride `stride`.
template <class T>
void scatter(const T* x, int64_t stride, int64_t rows, int64_t cols, T beta, GemmMatrix<T> d, T* c, int64_t c_row,
             int64_t c_col) {
  constexpr int lanes = kLanes<T>, quad = kQuad<T>;
  for (int64_t i = 0; i < rows; i += lanes) {
    const int64_t filled = std::min<int64_t>(rows - i, lanes);
    const Mask<T> mask(filled);
    const Rows<T> source(x + i * stride, stride, filled);
    int64_t j = 0;
    if (c_row == 1 && (beta == 0 || d.row_stride == 1)) {
      for (; j < cols; j += quad) {  // the buffer is padded to full vectors, so reading past cols is safe
        Vec<T> column[quad];
        transpose(source.at, j, column);
        for (int64_t q = 0; q < std::min<int64_t>(quad, cols - j); ++q) {
          if (beta != 0) column[q] += beta * load(d.data + i + (j + q) * d.col_stride, mask);
          store(c + i + (j + q) * c_col, column[q], mask);
        }
      }
      continue;
    }
    for (int64_t l = 0; l < filled; ++l)
      for (j = 0; j < cols; ++j) {
        const T addend = beta == 0 ? T(0) : beta * d.data[(i + l) * d.row_stride + j * d.col_stride];
        c[(i + l) * c_row + j * c_col] = source.at[l][j] + addend;
      }
  }
}

// ----- Dot products -----

// out[i][j] = sum_p a[i * a_row + p] * b[j * b_row + p] for `rows` rows of a and 4 of b, both contiguous along p.
template <class T, int rows>
void dot_tile(int64_t k, const T* a, int64_t a_row, const T* const* b, T (*out)[4]) {
  constexpr int lanes = kLanes<T>, quad = kQuad<T>;
  Vec<T> sum[rows][4] = {};
  auto step = [&](auto fetch) __attribute__((always_inline)) {
    Vec<T> y[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) y[j] = fetch(b[j]);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const Vec<T> x = fetch(a + i * a_row);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) sum[i][j] = fma(x, y[j], sum[i][j]);
    }
  };
  int64_t p = 0;
  for (; p + lanes <= k; p += lanes) step([&](const T* s) { return load(s + p); });
  if (p < k) {
    const Mask<T> mask(k - p);
    step([&](const T* s) { return load(s + p, mask); });
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    // Adding interleaved halves leaves partial sums of the four (for double, two) results side by side in each 128
    // bits.
    auto fold = [](Vec<T> x, Vec<T> y) { return interleave<T, 1, false>(x, y) + interleave<T, 1, true>(x, y); };
    Vec<T> part[2] = {fold(sum[i][0], sum[i][1]), fold(sum[i][2], sum[i][3])};
    if constexpr (quad == 4)
      part[0] = interleave<T, 2, false>(part[0], part[1]) + interleave<T, 2, true>(part[0], part[1]);
    for (int j = 0; j < 4; ++j) {
      T total = 0;
      for (int q = 0; q < lanes; q += quad) total += part[j / quad][q + j % quad];
      out[i][j] = total;
    }
  }
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
