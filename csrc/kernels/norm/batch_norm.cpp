// Batch norm. Channels are independent, so threads divide the channels. x is (outer, channels, inner):
// - lines: `inner` is long. A channel consists of `outer` contiguous pieces, which are cached after the first read.
// - columns: `inner` is short, or 1 (a matrix, or channels last). Tiles of adjacent channels, with all their inner
//   elements, are processed row by row.
#include <vector>

#include "kernels/norm/loops.h"
#include "kernels/norm/norm.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int64_t kLong = 32;  // minimum `inner` for lines
constexpr int64_t kWide = 64;  // minimum number of columns of a tile, if there are as many

struct Shape {
  int64_t outer, channels, inner;
  explicit Shape(const View& x) : outer(x.shape[0]), channels(x.shape[1]), inner(x.shape[2]) {}
  int64_t count() const { return outer * inner; }  // elements of a channel
  bool lines() const { return inner >= kLong; }
  int64_t piece(int64_t i, int64_t c) const { return (i * channels + c) * inner; }
  int64_t row() const { return channels * inner; }
};

// ----- Lines -----

// Calls f(channel) for all channels, in parallel.
template <class F>
void each_channel(const Shape& s, F&& f) {
  parallel_for(s.channels, std::max<int64_t>(1, kLightGrain / s.count()), f);
}

template <class T>
struct Channel {
  double mean = 0, var = 0;
  Channel(Reader<T>& in, const Shape& s, int64_t c) {
    const double n = static_cast<double>(s.count());
    for (int64_t i = 0; i < s.outer; ++i) mean += sum_of(in.at(s.piece(i, c), s.inner), s.inner);
    mean /= n;
    for (int64_t i = 0; i < s.outer; ++i)
      var += squares_of(in.at(s.piece(i, c), s.inner), s.inner, static_cast<T>(mean));
    var /= n;
  }
};

template <class T>
void scale_line(T* y, const T* x, int64_t n, T mean, T scale, T shift) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale + shift;
}

// ----- Columns -----

// A tile of complete channels: columns [begin * inner, end * inner) of a matrix of `outer` rows.
struct ColumnTiles {
  int64_t each, count;  // channels per tile; number of tiles
  explicit ColumnTiles(const Shape& s)
      : each(std::max<int64_t>(1, kWide / s.inner)), count(ceil_div(s.channels, each)) {}
};
template <class F>
void each_tile(const Shape& s, F&& f) {
  const ColumnTiles tiles(s);
  const int64_t work = tiles.each * s.count();
  parallel_for(tiles.count, std::max<int64_t>(1, kLightGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) f(t * tiles.each, std::min(s.channels, (t + 1) * tiles.each));
  });
}

// Sums K quantities by column over all rows, and then over the inner elements of each channel. add(i, part) adds the
// terms of row i to K consecutive arrays of kWide columns.
template <int K, class T, class Add>
void column_sums(const Shape& s, int64_t channels, double (*total)[kWide], const Add& add) {
  alignas(64) T part[K][kWide];
  for (int k = 0; k < K; ++k) std::fill_n(total[k], channels, 0.0);
  const int64_t width = channels * s.inner;
  for (int64_t begin = 0; begin < s.outer; begin += kRowBlock) {
    for (int k = 0; k < K; ++k) std::fill_n(part[k], width, T(0));
    for (int64_t i = begin; i < std::min(s.outer, begin + kRowBlock); ++i) add(i, part);
    for (int k = 0; k < K; ++k)
      for (int64_t j = 0; j < width; ++j) total[k][j / s.inner] += part[k][j];
  }
}

// Repeats the value of each channel for each of its columns.
template <class T>
void spread_columns(T* to, const T* from, int64_t channels, int64_t inner) {
  for (int64_t c = 0; c < channels; ++c) std::fill_n(to + c * inner, inner, from[c]);
}

template <class T>
struct Columns {
  alignas(64) T mean[kWide], scale[kWide], shift[kWide];
};

template <class T>
void scale_columns(Reader<T>& in, Writer<T>& out, const Shape& s, int64_t first, int64_t width, const Columns<T>& c) {
  for (int64_t i = 0; i < s.outer; ++i) {
    const int64_t at = i * s.row() + first * s.inner;
    const T* x = in.at(at, width);
    T* y = out.at(at);
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) y[j] = (x[j] - c.mean[j]) * c.scale[j] + c.shift[j];
    out.done(at, width);
  }
}

// ----- Both -----

template <class T>
void store_moments(const View& mean, const View& rstd, int64_t c, double m, double var, double eps, double* unbiased,
                   double n) {
  mean.as<T>()[c] = static_cast<T>(m);
  rstd.as<T>()[c] = reciprocal_std<T>(var, eps);
  unbiased[c] = var * (n > 1 ? n / (n - 1) : std::nan(""));
}

// running += momentum (seen - running)
void update(const View& running, const double* seen, int64_t n, double momentum) {
  if (!running.data) return;
  std::vector<double> value(static_cast<size_t>(n));
  gather(value.data(), DType::Float64, running.data, itemsize(running.dtype), running.dtype, n);
  for (int64_t c = 0; c < n; ++c) {
    double& v = value[static_cast<size_t>(c)];
    v = (1 - momentum) * v + momentum * seen[c];
  }
  put_all(running, value.data(), n);
}

// The arguments of train().
template <class T>
struct Training {
  View y, mean, rstd, x;
  const Shape& s;
  const T *weight, *bias;
  double eps;
  double* unbiased;  // the unbiased variance of each channel, for the running statistics
};

// Channel by channel.
template <class T>
void train_lines(const Training<T>& t) {
  const Shape& s = t.s;
  const double n = static_cast<double>(s.count());
  each_channel(s, [&](int64_t begin, int64_t end) {
    Reader<T> in(t.x, s.inner);
    Writer<T> out(t.y, s.inner);
    for (int64_t c = begin; c < end; ++c) {
      const Channel<T> m(in, s, c);
      store_moments<T>(t.mean, t.rstd, c, m.mean, m.var, t.eps, t.unbiased, n);
      const T center = t.mean.template as<T>()[c], scale = t.rstd.template as<T>()[c] * t.weight[c], shift = t.bias[c];
      for (int64_t i = 0; i < s.outer; ++i) {
        const int64_t at = s.piece(i, c);
        scale_line(out.at(at), in.at(at, s.inner), s.inner, center, scale, shift);
        out.done(at, s.inner);
      }
    }
  });
}

// Many channels at once, if each has few contiguous elements.
template <class T>
void train_tiles(const Training<T>& t) {
  const Shape& s = t.s;
  const double n = static_cast<double>(s.count());
  each_tile(s, [&](int64_t begin, int64_t end) {
    const int64_t channels = end - begin, width = channels * s.inner;
    Reader<T> in(t.x, width);
    Writer<T> out(t.y, width);
    double total[1][kWide], means[kWide];
    Columns<T> columns;
    T scale[kWide];
    column_sums<1, T>(s, channels, total, [&](int64_t i, T(*part)[kWide]) {
      const T* row = in.at(i * s.row() + begin * s.inner, width);
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) part[0][j] += row[j];
    });
    for (int64_t c = 0; c < channels; ++c) {
      means[c] = total[0][c] / n;
      std::fill_n(columns.mean + c * s.inner, s.inner, static_cast<T>(means[c]));
    }
    column_sums<1, T>(s, channels, total, [&](int64_t i, T(*part)[kWide]) {
      const T* row = in.at(i * s.row() + begin * s.inner, width);
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const T d = row[j] - columns.mean[j];
        part[0][j] += d * d;
      }
    });
    for (int64_t c = 0; c < channels; ++c) {
      store_moments<T>(t.mean, t.rstd, begin + c, means[c], total[0][c] / n, t.eps, t.unbiased, n);
      scale[c] = t.rstd.template as<T>()[begin + c] * t.weight[begin + c];
    }
    spread_columns(columns.scale, scale, channels, s.inner);
    spread_columns(columns.shift, t.bias + begin, channels, s.inner);
    scale_columns(in, out, s, begin, width, columns);
  });
}

template <class T>
void train(View y, View mean, View rstd, View x, View weight, View bias, double eps, const RunningStats& running) {
  const Shape s(x);
  const Whole<T> w(weight, s.channels, T(1)), b(bias, s.channels, T(0));
  std::vector<double> unbiased(static_cast<size_t>(s.channels));
  const Training<T> training{y, mean, rstd, x, s, w.data(), b.data(), eps, unbiased.data()};
  if (s.lines()) train_lines(training);
  else train_tiles(training);
  if (!running.mean.data && !running.var.data) return;
  std::vector<double> means(static_cast<size_t>(s.channels));
  std::copy_n(mean.as<T>(), s.channels, means.data());
  update(running.mean, means.data(), s.channels, running.momentum);
  update(running.var, unbiased.data(), s.channels, running.momentum);
}

template <class T>
void apply(View y, View x, View mean, View rstd, View weight, View bias) {
  const Shape s(x);
  const Whole<T> w(weight, s.channels, T(1)), b(bias, s.channels, T(0));
  if (s.lines()) {
    const int64_t pieces = s.outer * s.channels;
    parallel_for(pieces, std::max<int64_t>(1, kLightGrain / s.inner), [&](int64_t begin, int64_t end) {
      Reader<T> in(x, s.inner);
      Writer<T> out(y, s.inner);
      for (int64_t p = begin; p < end; ++p) {
        const int64_t c = p % s.channels, at = p * s.inner;
        scale_line(out.at(at), in.at(at, s.inner), s.inner, mean.as<T>()[c], rstd.as<T>()[c] * w.data()[c],
                   b.data()[c]);
        out.done(at, s.inner);
      }
    });
    return;
  }
  each_tile(s, [&](int64_t begin, int64_t end) {
    const int64_t channels = end - begin, width = channels * s.inner;
    Reader<T> in(x, width);
    Writer<T> out(y, width);
    Columns<T> columns;
    T scale[kWide];
    for (int64_t c = 0; c < channels; ++c) scale[c] = rstd.as<T>()[begin + c] * w.data()[begin + c];
    spread_columns(columns.mean, mean.as<T>() + begin, channels, s.inner);
    spread_columns(columns.scale, scale, channels, s.inner);
    spread_columns(columns.shift, b.data() + begin, channels, s.inner);
    scale_columns(in, out, s, begin, width, columns);
  });
}

// dx = factor dy - from_mean - (x - mean) from_std
template <class T>
struct Gradient {
  T factor, from_mean, from_std;
  // Computed from the sums of dy and of dy (x - mean).
  Gradient(double sum, double dot, double n, T weight, T rstd, bool training)
      : factor(weight * rstd),
        from_mean(training ? static_cast<T>(sum / n) * factor : T(0)),
        from_std(training ? static_cast<T>(dot * rstd / n) * rstd * factor : T(0)) {}
};

template <class T>
struct Backward {
  View dx, dy, x, mean, rstd;
  bool training;
  const Shape s;
  const Whole<T> weight;
  const double n = static_cast<double>(s.count());
  std::vector<double> dweight, dbias;

  Backward(View dx, View dy, View x, View mean, View rstd, View weight, bool training)
      : dx(dx), dy(dy), x(x), mean(mean), rstd(rstd), training(training), s(x), weight(weight, s.channels, T(1)) {
    dweight.resize(static_cast<size_t>(s.channels));
    dbias.resize(static_cast<size_t>(s.channels));
  }

  void run() {
    if (s.lines()) each_channel(s, [&](int64_t begin, int64_t end) { channels_as_lines(begin, end); });
    else each_tile(s, [&](int64_t begin, int64_t end) { channels_as_columns(begin, end); });
  }

 private:
  // Computes it from the sums of dy and of dy (x - mean) over a channel.
  Gradient<T> finish(int64_t c, double sum, double dot) {
    const T r = rstd.as<T>()[c];
    dweight[static_cast<size_t>(c)] = dot * r;
    dbias[static_cast<size_t>(c)] = sum;
    return {sum, dot, n, weight.data()[c], r, training};
  }

  // Channels with long lines: vectors run along a line.
  void channels_as_lines(int64_t begin, int64_t end) {
    Reader<T> in(x, s.inner), grad(dy, s.inner);
    Writer<T> out(dx, s.inner);
    for (int64_t c = begin; c < end; ++c) {
      const T m = mean.as<T>()[c];
      double sum = 0, dot = 0;
      for (int64_t i = 0; i < s.outer; ++i) {
        const T *xi = in.at(s.piece(i, c), s.inner), *gi = grad.at(s.piece(i, c), s.inner);
        const auto part = sums<2, T>(
            s.inner,
            [=](int64_t k) {
              const Vector<T> g = load(gi + k);
              return std::array<Vector<T>, 2>{g, g * (load(xi + k) - m)};
            },
            [=](int64_t k) { return std::array<T, 2>{gi[k], gi[k] * (xi[k] - m)}; });
        sum += part[0];
        dot += part[1];
      }
      const Gradient<T> g = finish(c, sum, dot);
      for (int64_t i = 0; dx.data && i < s.outer; ++i) {
        const int64_t at = s.piece(i, c);
        const T *xi = in.at(at, s.inner), *gi = grad.at(at, s.inner);
        T* to = out.at(at);
#pragma GCC ivdep
        for (int64_t k = 0; k < s.inner; ++k) to[k] = gi[k] * g.factor - g.from_mean - (xi[k] - m) * g.from_std;
        out.done(at, s.inner);
      }
    }
  }

  // Channels with short lines: vectors run across channels.
  void channels_as_columns(int64_t begin, int64_t end) {
    const int64_t channels = end - begin, width = channels * s.inner;
    Reader<T> in(x, width), grad(dy, width);
    Writer<T> out(dx, width);
    double total[2][kWide];
    alignas(64) T m[kWide], factor[kWide], from_mean[kWide], from_std[kWide];
    spread_columns(m, mean.as<T>() + begin, channels, s.inner);
    column_sums<2, T>(s, channels, total, [&](int64_t i, T(*part)[kWide]) {
      const int64_t at = i * s.row() + begin * s.inner;
      const T *xi = in.at(at, width), *gi = grad.at(at, width);
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        part[0][j] += gi[j];
        part[1][j] += gi[j] * (xi[j] - m[j]);
      }
    });
    for (int64_t c = 0; c < channels; ++c) {
      const Gradient<T> g = finish(begin + c, total[0][c], total[1][c]);
      std::fill_n(factor + c * s.inner, s.inner, g.factor);
      std::fill_n(from_mean + c * s.inner, s.inner, g.from_mean);
      std::fill_n(from_std + c * s.inner, s.inner, g.from_std);
    }
    for (int64_t i = 0; dx.data && i < s.outer; ++i) {
      const int64_t at = i * s.row() + begin * s.inner;
      const T *xi = in.at(at, width), *gi = grad.at(at, width);
      T* to = out.at(at);
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) to[j] = gi[j] * factor[j] - from_mean[j] - (xi[j] - m[j]) * from_std[j];
      out.done(at, width);
    }
  }
};

}  // namespace

void batch_norm(View y, View mean, View rstd, View x, View weight, View bias, double eps, const RunningStats& running) {
  with_floating_compute_type(x.dtype, [&]<class T>() { train<T>(y, mean, rstd, x, weight, bias, eps, running); });
}
void batch_norm_apply(View y, View x, View mean, View rstd, View weight, View bias) {
  with_floating_compute_type(x.dtype, [&]<class T>() { apply<T>(y, x, mean, rstd, weight, bias); });
}
void batch_norm_backward(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight,
                         bool training) {
  with_floating_compute_type(x.dtype, [&]<class T>() {
    Backward<T> pass(dx, dy, x, mean, rstd, weight, training);
    pass.run();
    put_all(dweight, pass.dweight.data(), pass.s.channels);
    put_all(dbias, pass.dbias.data(), pass.s.channels);
  });
}
GENESIS_KERNEL(batch_norm)
GENESIS_KERNEL(batch_norm_apply)
GENESIS_KERNEL(batch_norm_backward)

}  // namespace genesis::kernels::GENESIS_ISA
