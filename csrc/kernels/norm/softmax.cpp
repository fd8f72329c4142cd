// Softmax, log-softmax and their gradients. Each has two forms: for a line of contiguous elements, and for a tile of
// adjacent lines that are processed together. Strided operands and other dtypes go through a buffer; short lines are
// transposed into tiles there.
#include "kernels/norm/softmax.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/norm/transpose.h"
#include "kernels/reduce/lines.h"
#include "kernels/reduce/monoids.h"
#include "kernels/steps.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int64_t kWidth = 256;  // columns of a tile
constexpr int64_t kRowStep = 64, kLineStep = int64_t{1} << 16;

// Calls f(begin, end) for ranges of n rows of w elements.
template <class F>
[[gnu::always_inline]] inline void rows_in_steps(int64_t n, int64_t w, F f) {
  in_steps(0, n, std::max(kRowStep, kRowStep * kWidth / w), f);
}

// The sum of a line: blocks in T, then float64.
template <class T>
double total(const T* x, int64_t n) {
  double sum = 0;
  in_steps(0, n, kLineStep, [&](int64_t from, int64_t until) {
    for (int64_t i = from; i < until; i += kBlock) sum += Monoid<Sum<T>>::block(x + i, std::min(kBlock, until - i));
  });
  return sum;
}
template <class T>
T max_of_line(const T* x, int64_t n) {
  if (n <= kLineStep) [[likely]]
    return Monoid<Max<T>>::block(x, n);
  T max = Max<T>::kStart;
  in_steps(0, n, kLineStep,
           [&](int64_t from, int64_t until) { max = Max<T>::op(max, Monoid<Max<T>>::block(x + from, until - from)); });
  return max;
}
template <class T>
double dot(const T* x, const T* y, int64_t n) {
  constexpr int w = kLanes<T>;
  double sum = 0;
  Pace pace;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    pace.spend(kBlock);
    Vector<T> a{}, b{}, c{}, d{};
    int64_t i = begin;
    for (; i + 4 * w <= end; i += 4 * w) {
      a += load(x + i) * load(y + i);
      b += load(x + i + w) * load(y + i + w);
      c += load(x + i + 2 * w) * load(y + i + 2 * w);
      d += load(x + i + 3 * w) * load(y + i + 3 * w);
    }
    for (; i + w <= end; i += w) a += load(x + i) * load(y + i);
    a = (a + b) + (c + d);
    T part = 0;
    for (int j = 0; j < w; ++j) part += a[j];
    for (; i < end; ++i) part += x[i] * y[i];
    sum += part;
  }
  return sum;
}

// A tile: element i of line j is x[i * stride + j].
template <class T>
struct Tile {
  T* data;
  int64_t stride;
  T* operator[](int64_t i) const { return data + i * stride; }
};

template <class T>
void max_of_lines(T* max, Tile<T> x, int64_t n, int64_t w) {
  std::copy_n(x[0], w, max);
  rows_in_steps(n, w, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* row = x[i];
#pragma GCC ivdep
      for (int64_t j = 0; j < w; ++j) max[j] = Max<T>::op(max[j], row[j]);
    }
  });
}
// Sums rows in T for a few rows at a time, then in float64.
template <class T, class Row>
void sums_of_lines(double* sum, int64_t n, int64_t w, const Row& row) {
  std::fill_n(sum, w, 0.0);
  alignas(64) T part[kWidth];
  for (int64_t begin = 0; begin < n; begin += kRowBlock) {
    std::fill_n(part, w, T(0));
    in_steps(begin, std::min(n, begin + kRowBlock), kRowStep, [&](int64_t from, int64_t until) {
      for (int64_t i = from; i < until; ++i) row(part, i);
    });
    if (begin + kRowBlock < n) check_interrupt();
    for (int64_t j = 0; j < w; ++j) sum[j] += part[j];
  }
}

struct Softmax {
  template <class T>
  static void line(T* y, T* const* in, int64_t n) {
    const T* x = in[0];
    const T max = max_of_line(x, n);
    double sum = 0;
    Pace pace(kLineStep);
    for (int64_t begin = 0; begin < n; begin += kTile) {
      const int64_t end = std::min(n, begin + kTile);
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) y[i] = vexp(x[i] - max);
      sum += Monoid<Sum<T>>::block(y + begin, end - begin);
      pace.spend(kTile);
    }
    const T scale = static_cast<T>(1 / sum);
    in_steps(0, n, kLineStep, [&](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) y[i] *= scale;
    });
  }
  template <class T>
  static void lines(Tile<T> y, const Tile<T>* in, int64_t n, int64_t w) {
    alignas(64) T max[kWidth], scale[kWidth];
    double sum[kWidth];
    const Tile<T> x = in[0];
    max_of_lines(max, x, n, w);
    sums_of_lines<T>(sum, n, w, [&](T* part, int64_t i) {
      const T* from = x[i];
      T* to = y[i];
#pragma GCC ivdep
      for (int64_t j = 0; j < w; ++j) {
        const T e = vexp(from[j] - max[j]);
        to[j] = e;
        part[j] += e;
      }
    });
    for (int64_t j = 0; j < w; ++j) scale[j] = static_cast<T>(1 / sum[j]);
    rows_in_steps(n, w, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* to = y[i];
#pragma GCC ivdep
        for (int64_t j = 0; j < w; ++j) to[j] *= scale[j];
      }
    });
  }
};

struct LogSoftmax {
  template <class T>
  static void line(T* y, T* const* in, int64_t n) {
    const T* x = in[0];
    const T max = max_of_line(x, n);
    alignas(64) T e[kTile];
    double sum = 0;
    Pace pace(kLineStep);
    for (int64_t begin = 0; begin < n; begin += kTile) {
      const int64_t m = std::min(kTile, n - begin);
      for (int64_t i = 0; i < m; ++i) e[i] = vexp(x[begin + i] - max);
      sum += Monoid<Sum<T>>::block(e, m);
      pace.spend(kTile);
    }
    const T log_sum = static_cast<T>(std::log(sum));
    in_steps(0, n, kLineStep, [&](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) y[i] = (x[i] - max) - log_sum;
    });
  }
  template <class T>
  static void lines(Tile<T> y, const Tile<T>* in, int64_t n, int64_t w) {
    alignas(64) T max[kWidth], log_sum[kWidth];
    double sum[kWidth];
    const Tile<T> x = in[0];
    max_of_lines(max, x, n, w);
    sums_of_lines<T>(sum, n, w, [&](T* part, int64_t i) {
      const T* from = x[i];
#pragma GCC ivdep
      for (int64_t j = 0; j < w; ++j) part[j] += vexp(from[j] - max[j]);
    });
    for (int64_t j = 0; j < w; ++j) log_sum[j] = vlog(static_cast<T>(sum[j]));
    rows_in_steps(n, w, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* from = x[i];
        T* to = y[i];
#pragma GCC ivdep
        for (int64_t j = 0; j < w; ++j) to[j] = (from[j] - max[j]) - log_sum[j];
      }
    });
  }
};

struct SoftmaxBackward {
  template <class T>
  static void line(T* dx, T* const* in, int64_t n) {
    const T *dy = in[0], *y = in[1];
    const T sum = static_cast<T>(dot(dy, y, n));
    in_steps(0, n, kLineStep, [&](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) dx[i] = y[i] * (dy[i] - sum);
    });
  }
  template <class T>
  static void lines(Tile<T> dx, const Tile<T>* in, int64_t n, int64_t w) {
    const Tile<T> dy = in[0], y = in[1];
    double wide[kWidth];
    alignas(64) T sum[kWidth];
    sums_of_lines<T>(wide, n, w, [&](T* part, int64_t i) {
      const T *a = dy[i], *b = y[i];
#pragma GCC ivdep
      for (int64_t j = 0; j < w; ++j) part[j] += a[j] * b[j];
    });
    for (int64_t j = 0; j < w; ++j) sum[j] = static_cast<T>(wide[j]);
    rows_in_steps(n, w, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T *a = dy[i], *b = y[i];
        T* to = dx[i];
#pragma GCC ivdep
        for (int64_t j = 0; j < w; ++j) to[j] = b[j] * (a[j] - sum[j]);
      }
    });
  }
};

struct LogSoftmaxBackward {
  template <class T>
  static void line(T* dx, T* const* in, int64_t n) {
    const T *dy = in[0], *y = in[1];
    const T sum = static_cast<T>(total(dy, n));
    in_steps(0, n, kLineStep, [&](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) dx[i] = dy[i] - vexp(y[i]) * sum;
    });
  }
  template <class T>
  static void lines(Tile<T> dx, const Tile<T>* in, int64_t n, int64_t w) {
    const Tile<T> dy = in[0], y = in[1];
    double wide[kWidth];
    alignas(64) T sum[kWidth];
    sums_of_lines<T>(wide, n, w, [&](T* part, int64_t i) {
      const T* a = dy[i];
#pragma GCC ivdep
      for (int64_t j = 0; j < w; ++j) part[j] += a[j];
    });
    for (int64_t j = 0; j < w; ++j) sum[j] = static_cast<T>(wide[j]);
    rows_in_steps(n, w, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T *a = dy[i], *b = y[i];
        T* to = dx[i];
#pragma GCC ivdep
        for (int64_t j = 0; j < w; ++j) to[j] = a[j] - vexp(b[j]) * sum[j];
      }
    });
  }
};

constexpr int64_t kShort = 72;   // maximum length of lines that are transposed
constexpr int64_t kRoom = 4096;  // elements that are transposed at a time

// Runs K over many short lines, several at a time: element i of line j goes to i * width + j.
template <class K, class T>
void run_transposed(std::initializer_list<const View*> views, const Lines& lines) {
  const int64_t length = lines.length, width = std::min(kWidth, kRoom / length / 16 * 16);
  const int n = static_cast<int>(views.size());
  const View* view[3];
  std::copy(views.begin(), views.end(), view);
  bool even = true;  // whether all lines have the same distance
  for (int d = 0; d + 1 < lines.ndim; ++d)
    for (int k = 0; k < n; ++k) even = even && lines.strides[k][d] == lines.strides[k][d + 1] * lines.shape[d + 1];
  auto apart = [&](int k) { return lines.strides[k][lines.ndim - 1]; };
  auto start = [&](int k, int64_t line) {
    const int64_t at = even ? line * apart(k) : lines.offset(k, line);
    return static_cast<char*>(view[k]->data) + at * itemsize(view[k]->dtype);
  };
  bool plain[3];
  for (int k = 0; k < n; ++k) plain[k] = even && lines.step[k] == 1 && view[k]->dtype == dtype_of<T>;
  const int64_t groups = ceil_div(lines.count, width);
  parallel_for(groups, std::max<int64_t>(1, kLightGrain / (4 * kRoom)), [&](int64_t begin, int64_t end) {
    alignas(64) T space[3][kRoom + 16];
    T line[kShort];
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * width, w = std::min(width, lines.count - first);
      for (int k = 1; k < n; ++k) {
        if (plain[k]) {
          transpose_lines(reinterpret_cast<const T*>(start(k, first)), apart(k), w, length, space[k], width);
          continue;
        }
        for (int64_t j = 0; j < w; ++j) {
          const DType dtype = view[k]->dtype;
          gather(line, dtype_of<T>, start(k, first + j), lines.step[k] * itemsize(dtype), dtype, length);
          for (int64_t i = 0; i < length; ++i) space[k][i * width + j] = line[i];
        }
      }
      const Tile<T> in[2] = {{space[1], width}, {space[2], width}};
      K::lines(Tile<T>{space[0], width}, in, length, w);
      if (plain[0]) {
        untranspose_lines(space[0], width, w, length, reinterpret_cast<T*>(start(0, first)), apart(0));
        continue;
      }
      for (int64_t j = 0; j < w; ++j) {
        const DType dtype = view[0]->dtype;
        for (int64_t i = 0; i < length; ++i) line[i] = space[0][i * width + j];
        scatter(start(0, first + j), lines.step[0] * itemsize(dtype), dtype, line, dtype_of<T>, length);
      }
    }
  });
}

// Runs K over all lines along `dim`; views[0] is the output.
template <class K, class T>
void run(std::initializer_list<const View*> views, int dim) {
  const Lines lines(views, dim, false, kWidth);
  if (lines.across == 1 && lines.length > 1 && lines.length <= kShort && lines.count >= 16)
    return run_transposed<K, T>(views, lines);
  const int n = static_cast<int>(views.size());
  const bool tiled = lines.across > 1;
  const View* view[3];
  std::copy(views.begin(), views.end(), view);
  bool direct[3], buffered = false;
  for (int k = 0; k < n; ++k) {
    direct[k] = view[k]->dtype == dtype_of<T> && (tiled || lines.step[k] == 1 || lines.length == 1);
    buffered |= !direct[k];
  }
  // exp costs several times as much as moving an element.
  parallel_for(lines.total(), std::max<int64_t>(1, lines.grain() / 4), [&](int64_t begin, int64_t end) {
    const size_t size = static_cast<size_t>(lines.length * lines.width);
    std::vector<T> space(buffered ? size * static_cast<size_t>(n) : 0);
    for (int64_t u = begin; u < end; ++u) {
      const int64_t w = lines.columns(u);
      Tile<T> at[3] = {};
      for (int k = 0; k < n; ++k) {
        const int64_t offset = lines.offset(k, u), item = itemsize(view[k]->dtype);
        char* data = static_cast<char*>(view[k]->data) + offset * item;
        if (direct[k]) {
          at[k] = {reinterpret_cast<T*>(data), lines.step[k]};
          continue;
        }
        at[k] = {space.data() + static_cast<size_t>(k) * size, lines.width};
        if (k == 0) continue;
        if (!tiled) gather(at[k].data, dtype_of<T>, data, lines.step[k] * item, view[k]->dtype, lines.length);
        else
          for (int64_t i = 0; i < lines.length; ++i)
            gather(at[k][i], dtype_of<T>, data + i * lines.step[k] * item, item, view[k]->dtype, w);
      }
      if (tiled) {
        K::lines(at[0], at + 1, lines.length, w);
      } else {
        T* in[2] = {at[1].data, n > 2 ? at[2].data : nullptr};
        K::line(at[0].data, in, lines.length);
      }
      if (direct[0]) continue;
      const int64_t item = itemsize(view[0]->dtype);
      char* data = static_cast<char*>(view[0]->data) + lines.offset(0, u) * item;
      if (!tiled) scatter(data, lines.step[0] * item, view[0]->dtype, at[0].data, dtype_of<T>, lines.length);
      else
        for (int64_t i = 0; i < lines.length; ++i)
          scatter(data + i * lines.step[0] * item, item, view[0]->dtype, at[0][i], dtype_of<T>, w);
    }
  });
}

template <class K>
void run_in(std::initializer_list<const View*> views, int dim) {
  with_floating_compute_type((*views.begin())->dtype, [&]<class T>() { run<K, T>(views, dim); });
}

}  // namespace

void softmax(View y, View x, int dim) { run_in<Softmax>({&y, &x}, dim); }
void log_softmax(View y, View x, int dim) { run_in<LogSoftmax>({&y, &x}, dim); }
void softmax_backward(View dx, View dy, View y, int dim) { run_in<SoftmaxBackward>({&dx, &dy, &y}, dim); }
void log_softmax_backward(View dx, View dy, View y, int dim) { run_in<LogSoftmaxBackward>({&dx, &dy, &y}, dim); }
GENESIS_KERNEL(softmax)
GENESIS_KERNEL(log_softmax)
GENESIS_KERNEL(softmax_backward)
GENESIS_KERNEL(log_softmax_backward)

}  // namespace genesis::kernels::GENESIS_ISA
