// Shared by sort and top-k: keys, and sorting in the cache.
//
// Elements are represented by one number, Packed: the key in the upper half and the position in the row in the lower
// half. Packed numbers are distinct, and their order is the stable order of the values. In the cache, a few of them are
// merged from runs of 16; many are radix-sorted from the lowest digit up.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/steps.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

__extension__ typedef unsigned __int128 uint128_t;

// ---- keys --------------------------------------------------------------------------------------------------------

template <class T>
using UnsignedOf = std::conditional_t<
    sizeof(T) == 8, uint64_t,
    std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

// The bits of the largest number and of infinity: patterns in between are NaN.
template <class T>
constexpr UnsignedOf<T> kInfinity = 0;
template <>
constexpr uint16_t kInfinity<Half> = 0x7c00;
template <>
constexpr uint16_t kInfinity<BFloat16> = 0x7f80;
template <>
constexpr uint32_t kInfinity<float> = 0x7f800000;
template <>
constexpr uint64_t kInfinity<double> = 0x7ff0000000000000;

template <class T>
struct Coding {
  using U = UnsignedOf<T>;
  static constexpr int kBits = 8 * sizeof(T);
  static constexpr U kSign = static_cast<U>(U(1) << (kBits - 1));
  static constexpr bool kFloating = kInfinity<T> != 0;
  static constexpr U kNaN = static_cast<U>(~U(0));

  [[gnu::always_inline]] static U encode(T x) {
    const U bits = std::bit_cast<U>(x);
    if constexpr (kFloating) {
      const U magnitude = static_cast<U>(bits & ~kSign);
      // Negative numbers order by decreasing magnitude: all their bits are inverted, otherwise only the sign.
      const U negative = static_cast<U>(-static_cast<U>(bits >> (kBits - 1)));
      U key = static_cast<U>(bits ^ (negative | kSign));
      key = magnitude == 0 ? kSign : key;
      return magnitude > kInfinity<T> ? kNaN : key;
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<U>(bits ^ kSign);
    } else {
      return bits;
    }
  }
  [[gnu::always_inline]] static T decode(U key) {
    if constexpr (kFloating) {
      const U positive = static_cast<U>(-static_cast<U>(key >> (kBits - 1)));
      return std::bit_cast<T>(static_cast<U>(key ^ (static_cast<U>(~positive) | kSign)));  // kNaN becomes a NaN
    } else if constexpr (std::is_signed_v<T>) {
      return std::bit_cast<T>(static_cast<U>(key ^ kSign));
    } else {
      return std::bit_cast<T>(key);
    }
  }
};

// The values of T, packed. `flip` is all ones for descending order; equal values still keep their order.
template <class T>
struct Packing {
  using U = typename Coding<T>::U;
  using P = std::conditional_t<sizeof(T) == 8, uint128_t, uint64_t>;
  static constexpr int kShift = sizeof(P) * 4;  // where the key begins
  static constexpr int kBits = Coding<T>::kBits;

  [[gnu::always_inline]] static P pack(T x, int64_t place, U flip) {
    return static_cast<P>(static_cast<U>(Coding<T>::encode(x) ^ flip)) << kShift |
           static_cast<P>(static_cast<uint64_t>(place));
  }
  [[gnu::always_inline]] static U key(P p) { return static_cast<U>(p >> kShift); }
  [[gnu::always_inline]] static int64_t place(P p) {
    if constexpr (sizeof(P) == 8) return static_cast<int64_t>(static_cast<uint32_t>(p));
    else return static_cast<int64_t>(p);
  }
  [[gnu::always_inline]] static T value(P p, U flip) { return Coding<T>::decode(static_cast<U>(key(p) ^ flip)); }
};

// The destination of the results of a row.
template <class T>
struct Sink {
  T* values;
  int64_t* indices;
  const T* x;
  typename Coding<T>::U flip;

  [[gnu::always_inline]] void put(int64_t at, typename Packing<T>::P p) const {
    if (values) values[at] = Packing<T>::value(p, flip);
    indices[at] = Packing<T>::place(p);
  }
  // Keys map -0 to +0; this restores the original zeros. The results before `n` are sorted.
  void restore_zeros(int64_t n) const {
    if constexpr (Coding<T>::kFloating) {
      if (!values) return;
      const auto key = [&](const T& v) { return static_cast<typename Coding<T>::U>(Coding<T>::encode(v) ^ flip); };
      const auto zero = static_cast<typename Coding<T>::U>(Coding<T>::kSign ^ flip);
      T* at = std::partition_point(values, values + n, [&](const T& v) { return key(v) < zero; });
      for (; at < values + n && key(*at) == zero; ++at) *at = x[indices[at - values]];
    }
  }
};

// ---- in the cache ------------------------------------------------------------------------------------------------

constexpr int64_t kRun = 16;

// Sorts up to N elements by counting how many come before each: without branches, with vectors of counters.
template <int N>
void sort_few(const uint64_t* a, uint64_t* out, int64_t n) {
  uint64_t v[N], rank[N] = {}, sorted[N + 1];
  for (int i = 0; i < N; ++i) v[i] = i < n ? a[i] : UINT64_MAX;
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) rank[i] += v[j] < v[i];
  for (int i = 0; i < N; ++i) sorted[rank[i]] = v[i];  // everything beyond n goes to sorted[n]
  for (int64_t i = 0; i < n; ++i) out[i] = sorted[i];
}
inline void sort_run(const uint64_t* a, uint64_t* out, int64_t n) {
  if (n <= 4) sort_few<4>(a, out, n);
  else if (n <= 8) sort_few<8>(a, out, n);
  else sort_few<kRun>(a, out, n);
}
inline void sort_run(const uint128_t* a, uint128_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint128_t p = a[i];
    int64_t j = i;
    for (; j > 0 && out[j - 1] > p; --j) out[j] = out[j - 1];
    out[j] = p;
  }
}

// Merges a[0, m) and a[m, n) into out. Halves of equal length are merged from both ends at once: neither end can run
// out of elements, and the two are independent.
template <class P>
void merge(const P* a, int64_t m, int64_t n, P* out) {
  if (a[m - 1] < a[m]) {
    std::memcpy(out, a, static_cast<size_t>(n) * sizeof(P));
    return;
  }
  if (n != 2 * m) {
    std::merge(a, a + m, a + m, a + n, out);
    return;
  }
  const P *l = a, *r = a + m, *le = a + m - 1, *re = a + n - 1;
  P *front = out, *back = out + n - 1;
  for (int64_t i = 0; i < m; ++i) {
    const bool right = *r < *l;
    *front++ = right ? *r : *l;
    r += right;
    l += !right;
    const bool left = *re < *le;
    *back-- = left ? *le : *re;
    le -= left;
    re -= !left;
  }
}

// Sorts a, with b as scratch memory of the same size. Returns the location of the result.
template <class P>
P* merge_sort(P* a, P* b, int64_t n) {
  Pace pace;
  for (int64_t i = 0; i < n; i += kRun) sort_run(a + i, b + i, std::min(kRun, n - i));
  std::swap(a, b);
  for (int64_t width = kRun; width < n; width *= 2) {
    for (int64_t i = 0; i < n; i += 2 * width) {
      if (i + width < n) merge(a + i, width, std::min(2 * width, n - i), b + i);
      else std::memcpy(b + i, a + i, static_cast<size_t>(n - i) * sizeof(P));
      pace.spend(2 * width);
    }
    std::swap(a, b);
  }
  return a;
}

// The same by radix sort, from the lowest digit up. `bits` of each element, starting at `shift`, are significant.
template <int Digit, class P>
P* radix_sort(P* a, P* b, int64_t n, int shift, int bits) {
  constexpr uint32_t kMask = (1u << Digit) - 1;
  constexpr int kMost = (sizeof(P) * 4 + Digit - 1) / Digit;
  const int digits = static_cast<int>(ceil_div(bits, Digit));
  uint32_t counts[kMost][kMask + 1];
  std::memset(counts, 0, sizeof(counts[0]) * static_cast<size_t>(digits));
  const uint64_t used = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  in_steps(0, n, kStep, [&](int64_t from, int64_t until) {
    for (int64_t i = from; i < until; ++i) {
      uint64_t key = static_cast<uint64_t>(a[i] >> shift) & used;
      for (int d = 0; d < digits; ++d, key >>= Digit) ++counts[d][key & kMask];
    }
  });
  for (int d = 0; d < digits; ++d) {
    uint32_t* count = counts[d];
    const int at = shift + Digit * d;
    const uint32_t mask = static_cast<uint32_t>(used >> (Digit * d)) & kMask;
    if (count[static_cast<uint32_t>(a[0] >> at) & mask] == static_cast<uint32_t>(n)) continue;  // the same for all
    uint32_t sum = 0;
    for (uint32_t v = 0; v <= mask; ++v) sum += std::exchange(count[v], sum);
    in_steps(0, n, kStep, [&](int64_t from, int64_t until) {
      for (int64_t i = from; i < until; ++i) {
        const P p = a[i];
        b[count[static_cast<uint32_t>(p >> at) & mask]++] = p;
      }
    });
    std::swap(a, b);
  }
  return a;
}

// Sorts elements that agree in the bits above `shift + bits` and whose positions ascend; `n` is below 2^32.
template <class P>
P* sort_packed(P* a, P* b, int64_t n, int shift, int bits) {
  if (bits == 0) return a;
  // A radix pass costs about as much as a level of merging, plus its counters.
  if (n <= 48 * ((bits + 7) / 8)) return merge_sort(a, b, n);
  return n < 4096 ? radix_sort<8>(a, b, n, shift, bits) : radix_sort<11>(a, b, n, shift, bits);
}

template <class T>
void sort_short(const Sink<T>& to, const T* x, int64_t n, typename Packing<T>::P* a, typename Packing<T>::P* b) {
  using K = Packing<T>;
  bool zero = false;
  for (int64_t i = 0; i < n; ++i) {
    a[i] = K::pack(x[i], i, to.flip);
    if constexpr (Coding<T>::kFloating) zero |= std::bit_cast<typename K::U>(x[i]) == Coding<T>::kSign;
  }
  const auto* sorted = sort_packed(a, b, n, K::kShift, K::kBits);
  for (int64_t i = 0; i < n; ++i) to.put(i, sorted[i]);
  if (zero) to.restore_zeros(n);
}

// Calls f with a null pointer of the element type.
template <class F>
void with_elements(DType t, F&& f) {
  switch (t) {
    case DType::Bool:
    case DType::UInt8: return f(static_cast<uint8_t*>(nullptr));
    case DType::Int8: return f(static_cast<int8_t*>(nullptr));
    case DType::Int16: return f(static_cast<int16_t*>(nullptr));
    case DType::Int32: return f(static_cast<int32_t*>(nullptr));
    case DType::Int64: return f(static_cast<int64_t*>(nullptr));
    case DType::Float16: return f(static_cast<Half*>(nullptr));
    case DType::BFloat16: return f(static_cast<BFloat16*>(nullptr));
    case DType::Float32: return f(static_cast<float*>(nullptr));
    case DType::Float64: return f(static_cast<double*>(nullptr));
    default: unsupported(t);
  }
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
