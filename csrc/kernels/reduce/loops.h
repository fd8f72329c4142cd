// Reducers. Included by kernel files, which are compiled per instruction set; reduction.h iterates over shapes.
//
// A reducer r has
//   In                          the type in which elements are read; r.dtype is its DType
//   Acc                         the accumulator; Acc{} represents no elements
//   r.add(acc, x, n, first)     adds n contiguous elements, starting at index `first` of the reduced dimension
//   r.merge(acc, later)         adds the Acc of later elements
//   r.store(acc, at)            writes output number `at`
//   r.store_plain(accs, n, at)  optional: writes n outputs if they need no more than a conversion; whether they do
//   Tile                        accumulators of up to kColumns outputs, with
//     rows(r, x, stride, rows, columns, first) and get(j) -> Acc
//   kFolds                      whether elements may be added in any order
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "core/parallel.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/half.h"
#include "kernels/kernel.h"
#include "kernels/reduce/reduction.h"

namespace genesis::kernels::GENESIS_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* p) {
  Vector<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
[[gnu::always_inline]] inline void store(T* p, Vector<T> v) {
  std::memcpy(p, &v, sizeof v);
}

// The destination of results: `at` counts elements from the first.
struct Output {
  char* data;
  DType dtype;
  explicit Output(const View& v) : data(static_cast<char*>(v.data)), dtype(v.dtype) {}
  explicit operator bool() const { return data != nullptr; }
  template <class T>
  [[gnu::always_inline]] void put(int64_t at, T value) const {
    if (dtype == dtype_of<T>) reinterpret_cast<T*>(data)[at] = value;
    else if (std::is_same_v<T, float> && dtype == DType::Float16) narrow(value, reinterpret_cast<Half*>(data)[at]);
    else if (std::is_same_v<T, float> && dtype == DType::BFloat16) narrow(value, reinterpret_cast<BFloat16*>(data)[at]);
    else scatter(data + at * itemsize(dtype), 0, dtype, &value, dtype_of<T>, 1);
  }
};

// A reducer with its types erased.
template <class R>
class Erased final : public Reduction {
  using In = typename R::In;
  using Acc = typename R::Acc;
  using Tile = typename R::Tile;
  static_assert(sizeof(Acc) <= kMostAcc && sizeof(Tile) <= kMostTile && alignof(Tile) <= 64);

 public:
  explicit Erased(const R& r) : Reduction(r.dtype, R::kFolds, sizeof(Acc)), r_(r) {}

  void whole(const void* x, int64_t n, int64_t outputs, int64_t x_step, int64_t y, int64_t y_step) const override {
    const In* at = static_cast<const In*>(x);
    for (; outputs > 0; --outputs, at += x_step, y += y_step) {
      Acc acc{};
      r_.add(acc, at, n, 0);
      r_.store(acc, y);
    }
  }
  void start(void* accs, int64_t count) const override {
    std::uninitialized_fill_n(static_cast<Acc*>(accs), count, Acc{});
  }
  void add(void* acc, const void* x, int64_t n, int64_t first) const override {
    r_.add(*static_cast<Acc*>(acc), static_cast<const In*>(x), n, first);
  }
  void merge(void* accs, const void* later, int64_t count) const override {
    for (int64_t j = 0; j < count; ++j) r_.merge(static_cast<Acc*>(accs)[j], static_cast<const Acc*>(later)[j]);
  }
  void store(const void* accs, int64_t count, int64_t y, int64_t y_step) const override {
    if constexpr (requires { r_.store_plain(static_cast<const Acc*>(accs), count, y); })
      if (y_step == 1 && r_.store_plain(static_cast<const Acc*>(accs), count, y)) return;
    for (int64_t j = 0; j < count; ++j) r_.store(static_cast<const Acc*>(accs)[j], y + j * y_step);
  }

  void start_tile(void* tile, int64_t columns) const override {
    if constexpr (std::is_constructible_v<Tile, int64_t>) new (tile) Tile(columns);
    else new (tile) Tile();
  }
  void add_rows(void* tile, const void* x, int64_t stride, int64_t rows, int64_t columns,
                int64_t first) const override {
    static_cast<Tile*>(tile)->rows(r_, static_cast<const In*>(x), stride, rows, columns, first);
  }
  void finish_tile(const void* tile, void* accs, int64_t columns, int64_t fold) const override {
    const Tile& from = *static_cast<const Tile*>(tile);
    for (int64_t j = 0; j < columns; ++j) {
      Acc* const acc = new (static_cast<Acc*>(accs) + j) Acc(from.get(j));
      for (int64_t i = 1; i < fold; ++i) r_.merge(*acc, from.get(i * columns + j));
    }
  }

 private:
  const R& r_;
};

template <class R>
void reduce(const R& r, const View& y, const View& x) {
  kernels::reduce(Erased<R>(r), y, x);
}

// ---- reducers made of one associative operation -------------------------------------------------------------------
//
// An operation M has In, the type of elements, which may be a half type; Lane, in which a block is accumulated; Acc, in
// which blocks are accumulated; kStart, the neutral element; map(x); and op(a, b) on numbers and vectors.
template <class M>
class Monoid {
 public:
  using In = typename M::In;
  using Lane = typename M::Lane;
  struct Acc {
    typename M::Acc value = M::kStart;
  };
  static constexpr bool kFolds = true;

  // Not inlined, like Tile::rows: both are called from several places and compile slowly.
  [[gnu::noinline]] static Lane block(const In* x, int64_t n) {
    constexpr int w = kLanes<Lane>;
    Lane total = M::kStart;
    int64_t i = 0;
    if constexpr (kVectors) {
      if (n >= w) {
        Vector<Lane> a = vector(x), b = spread(), c = b, d = b, e = b, f = b, g = b, h = b;
        i = w;
        for (; i + 8 * w <= n; i += 8 * w) {
          a = M::op(a, vector(x + i));
          b = M::op(b, vector(x + i + w));
          c = M::op(c, vector(x + i + 2 * w));
          d = M::op(d, vector(x + i + 3 * w));
          e = M::op(e, vector(x + i + 4 * w));
          f = M::op(f, vector(x + i + 5 * w));
          g = M::op(g, vector(x + i + 6 * w));
          h = M::op(h, vector(x + i + 7 * w));
        }
        for (; i + w <= n; i += w) b = M::op(b, vector(x + i));
        if constexpr (is_half<In>) {
          static_assert(M::kStart == 0, "what is missing in a vector is 0");
          if (i < n) c = M::op(c, M::map(load_floats(x + i, n - i)));
          i = n;
        }
        a = M::op(M::op(M::op(a, b), M::op(c, d)), M::op(M::op(e, f), M::op(g, h)));
        total = across(a);
      }
    }
    for (; i < n; ++i) total = M::op(total, lane(x[i]));
    return total;
  }

  // Combines the lanes of a vector, by halves.
  template <class V>
  static Lane across(V v) {
    constexpr int lanes = sizeof(V) / sizeof(Lane);
    if constexpr (sizeof(V) > 16) {
      return [&]<int... i>(std::integer_sequence<int, i...>) {
        return across(M::op(__builtin_shufflevector(v, v, i...), __builtin_shufflevector(v, v, (i + lanes / 2)...)));
      }(std::make_integer_sequence<int, lanes / 2>{});
    } else {
      Lane lane[lanes];
      std::memcpy(lane, &v, sizeof v);
      for (int half = lanes / 2; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) lane[j] = M::op(lane[j], lane[j + half]);
      return lane[0];
    }
  }

  void add(Acc& acc, const In* x, int64_t n, int64_t) const { acc.value = M::op(acc.value, wide(block(x, n))); }
  void merge(Acc& acc, const Acc& later) const { acc.value = M::op(acc.value, later.value); }

  struct Tile {
    alignas(64) typename M::Acc total[kColumns];
    explicit Tile(int64_t columns) { std::fill_n(total, columns, typename M::Acc(M::kStart)); }
    Acc get(int64_t j) const { return {total[j]}; }
    template <class R>
    [[gnu::noinline]] void rows(const R&, const In* x, int64_t stride, int64_t rows, int64_t columns, int64_t) {
      alignas(64) Lane sum[kColumns];
      if constexpr (is_half<In> && kVectors) halves(sum, x, stride, rows, columns);
      else numbers(sum, x, stride, rows, columns);
      for (int64_t j = 0; j < columns; ++j) total[j] = M::op(total[j], wide(sum[j]));
    }

   private:
    static void numbers(Lane* sum, const In* x, int64_t stride, int64_t rows, int64_t columns) {
      for (int64_t j = 0; j < columns; ++j) sum[j] = lane(x[j]);
      int64_t i = 1;
      for (; i + 4 <= rows; i += 4) {
        const In *x0 = x + i * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j)
          sum[j] = M::op(sum[j], M::op(M::op(lane(x0[j]), lane(x1[j])), M::op(lane(x2[j]), lane(x3[j]))));
      }
      for (; i < rows; ++i) {
        const In* x0 = x + i * stride;
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j) sum[j] = M::op(sum[j], lane(x0[j]));
      }
    }
    // The same with explicit vectors, because the compiler does not vectorize it.
    static void halves(Lane* sum, const In* x, int64_t stride, int64_t rows, int64_t columns) {
      constexpr int w = kLanes<Lane>;
      const auto take = [&](auto of) {
        int64_t j = 0;
        for (; j + w <= columns; j += w) store(sum + j, of(j, [](auto p) { return vector(p); }));
        const int64_t rest = columns - j;
        if (rest > 0) store(sum + j, of(j, [rest](auto p) { return M::map(load_floats(p, rest)); }));
      };
      take([&](int64_t j, auto at) { return at(x + j); });
      int64_t i = 1;
      for (; i + 4 <= rows; i += 4) {
        const In *x0 = x + i * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
        take([&](int64_t j, auto at) {
          return M::op(load(sum + j), M::op(M::op(at(x0 + j), at(x1 + j)), M::op(at(x2 + j), at(x3 + j))));
        });
      }
      for (; i < rows; ++i) take([&](int64_t j, auto at) { return M::op(load(sum + j), at(x + i * stride + j)); });
    }
  };

 private:
#if defined(GENESIS_HALF_VECTORS)
  static constexpr bool kVectors = sizeof(In) == sizeof(Lane) || is_half<In>;
#else
  static constexpr bool kVectors = sizeof(In) == sizeof(Lane);
#endif
  static Lane lane(In x) {
    if constexpr (is_half<In>) return M::map(to_float(x));
    else return M::map(static_cast<Lane>(x));
  }
  static typename M::Acc wide(Lane v) { return static_cast<typename M::Acc>(v); }
  static Vector<Lane> spread() { return Vector<Lane>{} + Lane(M::kStart); }
  static Vector<Lane> vector(const In* x) {
    if constexpr (is_half<In>) return M::map(load_floats(x));
    else return M::map(load(reinterpret_cast<const Lane*>(x)));
  }
};

}  // namespace genesis::kernels::GENESIS_ISA
