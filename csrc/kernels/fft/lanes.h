// Vectors that hold one element of each of several lines, and the transposition of lines into them.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <utility>

namespace genesis::kernels::GENESIS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

// One complex number per line.
template <class T>
struct Z {
  Vector<T> re, im;
  friend Z operator+(Z a, Z b) { return {a.re + b.re, a.im + b.im}; }
  friend Z operator-(Z a, Z b) { return {a.re - b.re, a.im - b.im}; }
  friend Z operator*(Z a, T b) { return {a.re * b, a.im * b}; }
  Z times(T re_, T im_) const { return {re * re_ - im * im_, re * im_ + im * re_}; }
  Z conj() const { return {re, -im}; }
  // Multiplied by -i, or by i if Inverse.
  template <bool Inverse>
  Z rotated() const {
    if constexpr (Inverse) return {-im, re};
    else return {im, -re};
  }
};

template <class T, size_t... I>
[[gnu::always_inline]] inline void interleave(const Vector<T>& a, const Vector<T>& b, Vector<T>& low, Vector<T>& high,
                                              std::index_sequence<I...>) {
  constexpr size_t n = sizeof...(I);
  low = __builtin_shufflevector(a, b, (I % 2 ? n + I / 2 : I / 2)...);
  high = __builtin_shufflevector(a, b, (I % 2 ? n + n / 2 + I / 2 : n / 2 + I / 2)...);
}
template <class T, size_t... I>
[[gnu::always_inline]] inline void separate(const Vector<T>& a, const Vector<T>& b, Vector<T>& even, Vector<T>& odd,
                                            std::index_sequence<I...>) {
  even = __builtin_shufflevector(a, b, (2 * I)...);
  odd = __builtin_shufflevector(a, b, (2 * I + 1)...);
}

// Transposes rows and columns.
template <class T>
[[gnu::always_inline]] inline void transpose(Vector<T> (&r)[kLanes<T>]) {
  constexpr int n = kLanes<T>;
  Vector<T> t[n];
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < n / 2; ++i)
      interleave<T>(r[i], r[i + n / 2], t[2 * i], t[2 * i + 1], std::make_index_sequence<n>());
    for (int i = 0; i < n; ++i) r[i] = t[i];
  }
}

// Contiguous lines of numbers. `used` of them are in use; the other pointers are valid too.
template <class T>
struct Lines {
  T* at[kLanes<T>];
  int used;
};

// Stores element i of each line in to[i * step], for i < n.
template <class T>
void load(Vector<T>* to, int64_t step, const Lines<const T>& lines, int64_t n) {
  constexpr int w = kLanes<T>;
  int64_t i = 0;
  for (; i + w <= n; i += w) {
    Vector<T> rows[w];
    for (int l = 0; l < w; ++l) std::memcpy(&rows[l], lines.at[l] + i, sizeof(Vector<T>));
    transpose<T>(rows);
    for (int k = 0; k < w; ++k) to[(i + k) * step] = rows[k];
  }
  for (; i < n; ++i)
    for (int l = 0; l < w; ++l) to[i * step][l] = lines.at[l][i];
}
template <class T>
void store(const Lines<T>& lines, const Vector<T>* from, int64_t step, int64_t n) {
  constexpr int w = kLanes<T>;
  int64_t i = 0;
  for (; i + w <= n; i += w) {
    Vector<T> rows[w];
    for (int k = 0; k < w; ++k) rows[k] = from[(i + k) * step];
    transpose<T>(rows);
    for (int l = 0; l < lines.used; ++l) std::memcpy(lines.at[l] + i, &rows[l], sizeof(Vector<T>));
  }
  for (; i < n; ++i)
    for (int l = 0; l < lines.used; ++l) lines.at[l][i] = from[i * step][l];
}

// The same for complex numbers of adjacent lines: those with index i are contiguous at data + i * step.
template <class T>
void load_across(Z<T>* to, const std::complex<T>* data, int64_t step, int64_t n) {
  constexpr int w = kLanes<T>;
  for (int64_t i = 0; i < n; ++i) {
    Vector<T> pair[2];
    std::memcpy(pair, data + i * step, sizeof pair);
    separate<T>(pair[0], pair[1], to[i].re, to[i].im, std::make_index_sequence<w>());
  }
}
template <class T>
void store_across(std::complex<T>* data, int64_t step, const Z<T>* from, int64_t n) {
  constexpr int w = kLanes<T>;
  for (int64_t i = 0; i < n; ++i) {
    Vector<T> pair[2];
    interleave<T>(from[i].re, from[i].im, pair[0], pair[1], std::make_index_sequence<w>());
    std::memcpy(data + i * step, pair, sizeof pair);
  }
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
