// Reductions with two passes over each block while it is in the cache: variance and logsumexp.
#include <cmath>
#include <limits>

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/reduce/loops.h"
#include "kernels/reduce/monoids.h"
#include "kernels/reduce/reduce.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// ---- variance: deviations from a value near the mean of the block, to avoid cancellation of squares -----------------

template <class T>
struct Variance {
  using In = T;
  struct Acc {
    double count = 0, mean = 0, m2 = 0;  // m2: sum of squared deviations from the mean
  };
  static constexpr bool kFolds = true;
  DType dtype;
  Output y, mean;
  double correction;
  bool root;

  static void join(Acc& a, const Acc& b) {
    if (a.count == 0) {
      a = b;
      return;
    }
    if (b.count == 0) return;
    const double n = a.count + b.count, delta = b.mean - a.mean;
    a.mean += delta * (b.count / n);
    a.m2 += b.m2 + delta * delta * (a.count * b.count / n);
    a.count = n;
  }

  // Squares of small and of large numbers exceed the range of float32: such a block is recomputed in float64.
  static bool doubtful(T squares) { return sizeof(T) == 4 && !(squares > T(1e-25) && squares < T(1e35)); }
  [[gnu::noinline, gnu::cold]] static Acc careful(const T* x, int64_t stride, int64_t n) {
    const double center = x[0];
    double sum1 = 0, sum2 = 0;
    for (int64_t i = 0; i < n; ++i) sum1 += x[i * stride] - center;
    const double mean = center + sum1 / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) sum2 += (x[i * stride] - mean) * (x[i * stride] - mean);
    return {static_cast<double>(n), mean, sum2};
  }

  [[gnu::noinline]] void add(Acc& acc, const T* x, int64_t n, int64_t) const {
    const double count = static_cast<double>(n);
    const T center = static_cast<T>(Monoid<Sum<T>>::block(x, n) / static_cast<T>(n));
    constexpr int w = kLanes<T>;
    T sum1 = 0, sum2 = 0;
    int64_t i = 0;
    if (n >= w) {
      Vector<T> a{}, b{}, c{}, d{};
      for (; i + 2 * w <= n; i += 2 * w) {
        const Vector<T> p = load(x + i) - center, q = load(x + i + w) - center;
        a += p;
        b += q;
        c += p * p;
        d += q * q;
      }
      for (; i + w <= n; i += w) {
        const Vector<T> p = load(x + i) - center;
        a += p;
        c += p * p;
      }
      a += b;
      c += d;
      for (int j = 0; j < w; ++j) {
        sum1 += a[j];
        sum2 += c[j];
      }
    }
    for (; i < n; ++i) {
      const T p = x[i] - center;
      sum1 += p;
      sum2 += p * p;
    }
    join(acc, doubtful(sum2) ? careful(x, 1, n) : nan_safe(center, sum1, sum2, count));
  }
  void merge(Acc& acc, const Acc& later) const { join(acc, later); }
  void store(const Acc& acc, int64_t at) const {
    const double over = std::max(acc.count - correction, 0.0);
    const double var = acc.m2 / over;
    y.put(at, static_cast<T>(root ? std::sqrt(var) : var));
    if (mean) mean.put(at, static_cast<T>(acc.mean));
  }

  // NaN must not be lost in std::max.
  static Acc nan_safe(double center, double s1, double s2, double n) {
    const double m2 = s2 - s1 * s1 / n;
    return {n, center + s1 / n, m2 < 0 ? 0 : m2};
  }

  struct Tile {
    double count[kColumns];
    double mean[kColumns], m2[kColumns];
    Tile() {
      std::fill_n(count, kColumns, 0.0);
      std::fill_n(mean, kColumns, 0.0);
      std::fill_n(m2, kColumns, 0.0);
    }
    Acc get(int64_t j) const { return {count[j], mean[j], m2[j]}; }
    [[gnu::noinline]] void rows(const Variance&, const T* x, int64_t stride, int64_t rows, int64_t columns, int64_t) {
      alignas(64) T center[kColumns], s1[kColumns], s2[kColumns];
      std::fill_n(center, columns, T(0));
      std::fill_n(s1, columns, T(0));
      std::fill_n(s2, columns, T(0));
      for (int64_t i = 0; i < rows; ++i)
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j) center[j] += x[i * stride + j];
      for (int64_t j = 0; j < columns; ++j) center[j] /= static_cast<T>(rows);
      for (int64_t i = 0; i < rows; ++i)
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j) {
          const T p = x[i * stride + j] - center[j];
          s1[j] += p;
          s2[j] += p * p;
        }
      for (int64_t j = 0; j < columns; ++j) {
        Acc acc = get(j);
        join(acc, doubtful(s2[j]) ? careful(x + j, stride, rows)
                                  : nan_safe(center[j], s1[j], s2[j], static_cast<double>(rows)));
        count[j] = acc.count;
        mean[j] = acc.mean;
        m2[j] = acc.m2;
      }
    }
  };
};

// ---- log(sum(exp(x))): the maximum of a block is subtracted before exp ----------------------------------------------

template <class T>
struct LogSumExp {
  using In = T;
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  struct Acc {
    double max = kNone, sum = 0;  // log(sum) + max
  };
  static constexpr bool kFolds = true;
  DType dtype;
  Output y;

  // If all elements are -inf, or one is inf, x - max would be NaN.
  static T shift(T max) { return std::isinf(max) ? T(0) : max; }
  static void join(Acc& a, double max, double sum) {
    if (sum == 0) return;  // only -inf so far
    if (a.sum == 0) {
      a = {max, sum};
      return;
    }
    const bool larger = max > a.max;
    const double top = larger ? max : a.max;
    a.sum = a.sum * (larger ? std::exp(a.max - top) : 1) + sum * (larger ? 1 : std::exp(max - top));
    a.max = top;
  }

  [[gnu::noinline]] void add(Acc& acc, const T* x, int64_t n, int64_t) const {
    alignas(64) T e[kTile];
    const T max = shift(Monoid<Max<T>>::block(x, n));
    double sum = 0;
    for (int64_t i = 0; i < n; i += kTile) {
      const int64_t m = std::min(kTile, n - i);
      for (int64_t j = 0; j < m; ++j) e[j] = vexp(x[i + j] - max);
      sum += Monoid<Sum<T>>::block(e, m);
    }
    join(acc, max, sum);
  }
  void merge(Acc& acc, const Acc& later) const { join(acc, later.max, later.sum); }
  void store(const Acc& acc, int64_t at) const {
    y.put(at, static_cast<T>(acc.sum == 0 ? kNone : std::log(acc.sum) + acc.max));
  }

  struct Tile {
    Acc acc[kColumns];
    Acc get(int64_t j) const { return acc[j]; }
    [[gnu::noinline]] void rows(const LogSumExp&, const T* x, int64_t stride, int64_t rows, int64_t columns, int64_t) {
      alignas(64) T max[kColumns], sum[kColumns];
      std::copy_n(x, columns, max);
      for (int64_t i = 1; i < rows; ++i)
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j) max[j] = Max<T>::op(max[j], x[i * stride + j]);
      for (int64_t j = 0; j < columns; ++j) max[j] = shift(max[j]);
      std::fill_n(sum, columns, T(0));
      for (int64_t i = 0; i < rows; ++i)
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j) sum[j] += vexp(x[i * stride + j] - max[j]);
      for (int64_t j = 0; j < columns; ++j) join(acc[j], max[j], sum[j]);
    }
  };
};

}  // namespace

void variance(View y, View mean, View x, double correction, bool root) {
  with_floating_compute_type(
      y.dtype, [&]<class T>() { reduce(Variance<T>{dtype_of<T>, Output(y), Output(mean), correction, root}, y, x); });
}
void logsumexp(View y, View x) {
  with_floating_compute_type(y.dtype, [&]<class T>() { reduce(LogSumExp<T>{dtype_of<T>, Output(y)}, y, x); });
}
GENESIS_KERNEL(variance)
GENESIS_KERNEL(logsumexp)

}  // namespace genesis::kernels::GENESIS_ISA
