// Extrema and their positions. NaN wins over everything; ties go to the first element.
#include <limits>
#include <type_traits>

#include "kernels/elementwise/loops.h"
#include "kernels/reduce/loops.h"
#include "kernels/reduce/reduce.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

template <bool kSmallest>
struct Order {
  // Whether b replaces a.
  template <class V>
  [[gnu::always_inline]] static auto beats(V b, V a) {
    if constexpr (kSmallest) return (b < a) | (b != b);
    else return (b > a) | (b != b);
  }
  template <class V>
  static V op(V a, V b) {
    V best;
    if constexpr (kSmallest) best = b < a ? b : a;
    else best = b > a ? b : a;
    return b != b ? b : best;  // two steps compile to fewer instructions
  }
  template <class V>
  static V map(V x) {
    return x;
  }
  template <class T>
  static constexpr T worst() {
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity) return kSmallest ? Limits::infinity() : -Limits::infinity();
    else return kSmallest ? Limits::max() : Limits::lowest();
  }
};

template <class T, bool kSmallest>
struct Values : Order<kSmallest> {
  using In = T;
  using Lane = T;
  using Acc = T;
  static constexpr T kStart = Order<kSmallest>::template worst<T>();
};

template <class T, bool kSmallest>
struct Extreme : Monoid<Values<T, kSmallest>> {
  DType dtype;
  Output y;
  explicit Extreme(const View& y) : dtype(dtype_of<T>), y(y) {}
  void store(const typename Monoid<Values<T, kSmallest>>::Acc& acc, int64_t at) const { y.put(at, acc.value); }
};

template <class T, bool kSmallest>
struct WithIndex {
  using In = T;
  using O = Order<kSmallest>;
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;  // the same size as T where that matters
  struct Acc {
    T value = O::template worst<T>();
    int64_t index = -1;
  };
  static constexpr bool kFolds = false;
  DType dtype;
  Output values, indices;
  WithIndex(const View& values, const View& indices) : dtype(dtype_of<T>), values(values), indices(indices) {}

  static constexpr int64_t kShort = 16;
  static bool wins(T b, const Acc& a) {
    return a.index < 0 || (O::beats(b, a.value) && a.value == a.value);  // keep the first NaN
  }
  // The first position of a value that is known to occur.
  template <class Found>
  static int64_t find(const T* x, int64_t n, const Found& found) {
    constexpr int w = kLanes<T>;
    int64_t i = 0;
    for (; i + 4 * w <= n; i += 4 * w) {
      const auto hit =
          found(load(x + i)) | found(load(x + i + w)) | found(load(x + i + 2 * w)) | found(load(x + i + 3 * w));
      uint64_t words[kVectorBytes / 8], any = 0;
      std::memcpy(words, &hit, sizeof words);
      for (uint64_t word : words) any |= word;
      if (any) break;
    }
    while (!found(x[i])) ++i;
    return i;
  }
  [[gnu::noinline]] static void add_long(Acc& acc, const T* x, int64_t n, int64_t first) {
    const T best = Monoid<Values<T, kSmallest>>::block(x, n);
    if (!wins(best, acc)) return;
    acc.index = first + (best == best ? find(x, n, [best](auto v) { return v == best; })
                                      : find(x, n, [](auto v) { return v != v; }));
    acc.value = best;
  }
  void add(Acc& acc, const T* x, int64_t n, int64_t first) const {
    if (n >= kShort) return add_long(acc, x, n, first);
    for (int64_t i = 0; i < n; ++i)
      if (wins(x[i], acc)) acc = {x[i], first + i};
  }
  void merge(Acc& acc, const Acc& later) const {
    if (later.index >= 0 && wins(later.value, acc)) acc = later;
  }
  void store(const Acc& acc, int64_t at) const {
    if (values) values.put(at, acc.value);
    if (indices) indices.put(at, acc.index);
  }

  struct Tile {
    alignas(64) T value[kColumns];
    int64_t index[kColumns];
    Tile() {
      std::fill_n(value, kColumns, O::template worst<T>());
      std::fill_n(index, kColumns, int64_t{-1});
    }
    Acc get(int64_t j) const { return {value[j], index[j]}; }
    [[gnu::noinline]] void rows(const WithIndex&, const T* x, int64_t stride, int64_t rows, int64_t columns,
                                int64_t first) {
      alignas(64) T best[kColumns];
      alignas(64) Index where[kColumns];
      std::copy_n(x, columns, best);
      std::fill_n(where, columns, Index(0));
      for (int64_t i = 1; i < rows; ++i) {
        const T* row = x + i * stride;
        const Index at = static_cast<Index>(i);
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j) {
          const bool better = O::beats(row[j], best[j]) & (best[j] == best[j]);
          best[j] = better ? row[j] : best[j];
          where[j] = better ? at : where[j];
        }
      }
      for (int64_t j = 0; j < columns; ++j)
        if (wins(best[j], get(j))) {
          value[j] = best[j];
          index[j] = first + where[j];
        }
    }
  };
};

// All integers are compared in int64, which avoids a loop for every narrower type.
template <class F>
void with_type(DType t, F&& f) {
  if (is_integral(t)) f.template operator()<int64_t>();
  else with_floating_compute_type(t, f);
}

template <bool kSmallest>
void extreme(View y, View x) {
  with_type(x.dtype, [&]<class T>() { reduce(Extreme<T, kSmallest>(y), y, x); });
}
template <bool kSmallest>
void extreme_index(View values, View indices, View x) {
  with_type(x.dtype, [&]<class T>() { reduce(WithIndex<T, kSmallest>(values, indices), indices, x); });
}

}  // namespace

void amax(View y, View x) { x.dtype == DType::Bool ? kernels::any(y, x) : extreme<false>(y, x); }
void amin(View y, View x) { x.dtype == DType::Bool ? kernels::all(y, x) : extreme<true>(y, x); }
void max_index(View values, View indices, View x) { extreme_index<false>(values, indices, x); }
void min_index(View values, View indices, View x) { extreme_index<true>(values, indices, x); }
GENESIS_KERNEL(amax)
GENESIS_KERNEL(amin)
GENESIS_KERNEL(max_index)
GENESIS_KERNEL(min_index)

}  // namespace genesis::kernels::GENESIS_ISA
