// Layer, RMS and group norm. Rows are independent, so threads divide the rows. Gradients of weight and bias are summed
// over rows, with a partial sum for each chunk.
#include "kernels/norm/norm.h"

#include <vector>

#include "kernels/norm/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int64_t kChunkWork = 65536;  // minimum number of elements of a partial sum
constexpr int64_t kPartials = 64;      // maximum number of partial sums
constexpr int64_t kFewRows = 16;
constexpr int64_t kTogether = 8;         // maximum number of rows that are processed together
constexpr int64_t kTogetherWork = 2048;  // their elements

// The number of rows of n elements that are processed together. The steps of a row depend on each other and include
// divisions and a square root, whose latency exceeds the time of the sums of a short row. Interleaving rows hides it.
int64_t rows_together(int64_t n) { return std::clamp<int64_t>(kTogetherWork / n, 1, kTogether); }

// Mean and 1 / sqrt(variance + eps) of several rows.
template <class T>
struct Moments {
  T mean[kTogether], rstd[kTogether];
  Moments(const T* x, int64_t rows, int64_t n, double eps, bool centered) {
    const double count = static_cast<double>(n);
    for (int64_t r = 0; r < rows; ++r) mean[r] = centered ? static_cast<T>(sum_of(x + r * n, n) / count) : T(0);
    double variance[kTogether];
    for (int64_t r = 0; r < rows; ++r) variance[r] = squares_of(x + r * n, n, mean[r]) / count;
    for (int64_t r = 0; r < rows; ++r) rstd[r] = reciprocal_std<T>(variance[r], eps);
  }
};

template <class T>
void layer_norm_rows(View y, View mean, View rstd, View x, View weight, View bias, double eps, bool centered) {
  const int64_t rows = x.shape[0], n = x.shape[1];
  const Whole<T> scale(weight, n, T(1)), shift(bias, n, T(0));
  parallel_for(rows, std::max<int64_t>(1, kLightGrain / n), [&](int64_t begin, int64_t end) {
    const int64_t together = rows_together(n);
    Reader<T> in(x, together * n);
    Writer<T> out(y, together * n);
    const T *w = scale.data(), *b = shift.data();
    for (int64_t first = begin; first < end; first += together) {
      const int64_t count = std::min(together, end - first);
      const T* from = in.at(first * n, count * n);
      const Moments<T> m(from, count, n, eps, centered);
      if (mean.data) std::copy_n(m.mean, count, mean.as<T>() + first);
      std::copy_n(m.rstd, count, rstd.as<T>() + first);
      T* to = out.at(first * n);
      for (int64_t r = 0; r < count; ++r, from += n, to += n) {
        const T center = m.mean[r], factor = m.rstd[r];
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) to[i] = (from[i] - center) * factor * w[i] + b[i];
      }
      out.done(first * n, count * n);
    }
  });
}

// The means of g = dy weight and of g xhat over a row, which are the contribution of the statistics to the gradient.
template <class T>
std::array<T, 2> projections(const T* dy, const T* x, const T* w, int64_t n, T mean, T rstd) {
  const auto sum = sums<2, T>(
      n,
      [=](int64_t i) {
        const Vector<T> g = load(dy + i) * load(w + i);
        return std::array<Vector<T>, 2>{g, g * ((load(x + i) - mean) * rstd)};
      },
      [=](int64_t i) {
        const T g = dy[i] * w[i];
        return std::array<T, 2>{g, g * ((x[i] - mean) * rstd)};
      });
  return {static_cast<T>(sum[0] / static_cast<double>(n)), static_cast<T>(sum[1] / static_cast<double>(n))};
}

// Gradients of weight and bias for few, long rows: column by column, because a partial sum would be as large as the
// input.
template <class T>
void parameter_gradients(View dweight, View dbias, View dy, View x, View mean, View rstd) {
  const int64_t rows = x.shape[0], n = x.shape[1];
  parallel_for(n, std::max(kTile, kLightGrain / rows / kTile * kTile), [&](int64_t begin, int64_t end) {
    Reader<T> in(x, kTile), grad(dy, kTile);
    Writer<T> out_w(dweight, kTile), out_b(dbias, kTile);
    alignas(64) T dw[kTile], db[kTile];
    for (int64_t c = begin; c < end; c += kTile) {
      const int64_t w = std::min(kTile, end - c);
      std::fill_n(dw, w, T(0));
      std::fill_n(db, w, T(0));
      for (int64_t r = 0; r < rows; ++r) {
        const T *xr = in.at(r * n + c, w), *gr = grad.at(r * n + c, w);
        const T m = mean.data ? mean.as<T>()[r] : T(0), s = rstd.as<T>()[r];
#pragma GCC ivdep
        for (int64_t i = 0; i < w; ++i) {
          dw[i] += gr[i] * ((xr[i] - m) * s);
          db[i] += gr[i];
        }
      }
      const auto put = [&](Writer<T>& out, const T* sum) {
        if (!out) return;
        std::copy_n(sum, w, out.at(c));
        out.done(c, w);
      };
      put(out_w, dw);
      put(out_b, db);
    }
  });
}

template <class T>
void layer_norm_backward_rows(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight) {
  const int64_t rows = x.shape[0], n = x.shape[1];
  const bool apart = rows <= kFewRows && n > kTile;
  if (apart && (dweight.data || dbias.data)) parameter_gradients<T>(dweight, dbias, dy, x, mean, rstd);
  const bool params = !apart && (dweight.data || dbias.data);
  const int64_t chunk = std::max({int64_t{1}, kChunkWork / n, ceil_div(rows, kPartials)}),
                chunks = ceil_div(rows, chunk);
  const Whole<T> scale(weight, n, T(1));
  std::vector<double> partial(params ? static_cast<size_t>(2 * n * chunks) : 0);  // of weight and bias, per chunk
  parallel_for(rows, chunk, [&](int64_t begin, int64_t end) {
    Reader<T> in(x, n), grad(dy, n);
    Writer<T> out(dx, n);
    std::vector<T> sums_here(params ? static_cast<size_t>(2 * n) : 0);
    T *dw = sums_here.data(), *db = dw + n;
    const T* w = scale.data();
    double* total = partial.data() + begin / chunk * 2 * n;
    for (int64_t r = begin; r < end; ++r) {
      const T *xr = in.at(r * n, n), *gr = grad.at(r * n, n);
      const T m = mean.data ? mean.as<T>()[r] : T(0), s = rstd.as<T>()[r];
      if (dx.data) {
        auto [a, b] = projections(gr, xr, w, n, m, s);
        if (!mean.data) a = 0;
        T* to = out.at(r * n);
        if (params) {
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i) {
            const T xhat = (xr[i] - m) * s;
            to[i] = (gr[i] * w[i] - a - xhat * b) * s;
            dw[i] += gr[i] * xhat;
            db[i] += gr[i];
          }
        } else {
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i) to[i] = (gr[i] * w[i] - a - (xr[i] - m) * s * b) * s;
        }
        out.done(r * n, n);
      } else if (params) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) {
          dw[i] += gr[i] * ((xr[i] - m) * s);
          db[i] += gr[i];
        }
      }
      if (params && ((r - begin) % kRowBlock == kRowBlock - 1 || r + 1 == end)) {
        for (int64_t i = 0; i < 2 * n; ++i) total[i] += dw[i];
        std::fill(sums_here.begin(), sums_here.end(), T(0));
      }
    }
  });
  if (!params) return;
  for (int64_t c = 1; c < chunks; ++c) {
    const double* next = partial.data() + c * 2 * n;
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; ++i) partial[static_cast<size_t>(i)] += next[i];
  }
  put_all(dweight, partial.data(), n);
  put_all(dbias, partial.data() + n, n);
}

// One group of a sample: `channels` channels of `inner` elements, with weight and bias starting at its first channel.
template <class T>
void scale_group(T* y, const T* x, const T* w, const T* b, int64_t channels, int64_t inner, T mean, T rstd) {
  if (inner == 1) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) y[c] = (x[c] - mean) * rstd * w[c] + b[c];
    return;
  }
  for (int64_t c = 0; c < channels; ++c, x += inner, y += inner) {
    const T scale = rstd * w[c], shift = b[c];
#pragma GCC ivdep
    for (int64_t i = 0; i < inner; ++i) y[i] = (x[i] - mean) * scale + shift;
  }
}

template <class T>
void group_norm_rows(View y, View mean, View rstd, View x, View weight, View bias, double eps) {
  const int64_t channels = x.shape[1], inner = x.shape[2], groups = rstd.shape[1], each = channels / groups,
                n = each * inner;
  const Whole<T> scale(weight, channels, T(1)), shift(bias, channels, T(0));
  parallel_for(x.shape[0] * groups, std::max<int64_t>(1, kLightGrain / n), [&](int64_t begin, int64_t end) {
    const int64_t together = rows_together(n);
    Reader<T> in(x, together * n);
    Writer<T> out(y, together * n);
    for (int64_t first = begin; first < end; first += together) {
      const int64_t count = std::min(together, end - first);
      const T* from = in.at(first * n, count * n);
      const Moments<T> m(from, count, n, eps, true);
      std::copy_n(m.mean, count, mean.as<T>() + first);
      std::copy_n(m.rstd, count, rstd.as<T>() + first);
      T* to = out.at(first * n);
      for (int64_t r = 0; r < count; ++r) {
        const int64_t channel = (first + r) % groups * each;
        scale_group(to + r * n, from + r * n, scale.data() + channel, shift.data() + channel, each, inner, m.mean[r],
                    m.rstd[r]);
      }
      out.done(first * n, count * n);
    }
  });
}

// Sums of dy and of dy (x - mean).
template <class T>
std::array<double, 2> channel_sums(const T* dy, const T* x, int64_t n, T mean) {
  return sums<2, T>(
      n,
      [=](int64_t i) {
        const Vector<T> g = load(dy + i);
        return std::array<Vector<T>, 2>{g, g * (load(x + i) - mean)};
      },
      [=](int64_t i) { return std::array<T, 2>{dy[i], dy[i] * (x[i] - mean)}; });
}

template <class T>
void group_norm_backward_rows(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight) {
  const int64_t samples = x.shape[0], channels = x.shape[1], inner = x.shape[2], groups = rstd.shape[1];
  const int64_t each = channels / groups, n = each * inner;
  const Whole<T> scale(weight, channels, T(1));
  std::vector<double> partial(static_cast<size_t>(2 * samples * channels));  // of weight and bias, per sample
  parallel_for(samples * groups, std::max<int64_t>(1, kLightGrain / n), [&](int64_t begin, int64_t end) {
    Reader<T> in(x, n), grad(dy, n);
    Writer<T> out(dx, n);
    for (int64_t r = begin; r < end; ++r) {
      const T *xr = in.at(r * n, n), *gr = grad.at(r * n, n);
      const T m = mean.as<T>()[r], s = rstd.as<T>()[r];
      const int64_t first = r % groups * each;
      const T* w = scale.data() + first;
      double* part = partial.data() + (r / groups * channels + first) * 2;
      double a = 0, b = 0;  // sums of g = dy weight and of g xhat
      for (int64_t c = 0; c < each; ++c) {
        const auto [sum, dot] = channel_sums(gr + c * inner, xr + c * inner, inner, m);
        part[2 * c] = dot * s;
        part[2 * c + 1] = sum;
        a += sum * w[c];
        b += dot * s * w[c];
      }
      if (!dx.data) continue;
      const T from_mean = static_cast<T>(a / static_cast<double>(n)) * s;
      const T from_std = static_cast<T>(b / static_cast<double>(n)) * s * s;
      T* to = out.at(r * n);
      for (int64_t c = 0; c < each; ++c) {
        const T factor = w[c] * s;
        const T *xc = xr + c * inner, *gc = gr + c * inner;
        T* dc = to + c * inner;
#pragma GCC ivdep
        for (int64_t i = 0; i < inner; ++i) dc[i] = gc[i] * factor - from_mean - (xc[i] - m) * from_std;
      }
      out.done(r * n, n);
    }
  });
  if (!dweight.data && !dbias.data) return;
  std::vector<double> dw(static_cast<size_t>(channels)), db(dw);
  for (int64_t i = 0; i < samples; ++i)
    for (int64_t c = 0; c < channels; ++c) {
      const double* part = partial.data() + (i * channels + c) * 2;
      dw[static_cast<size_t>(c)] += part[0];
      db[static_cast<size_t>(c)] += part[1];
    }
  put_all(dweight, dw.data(), channels);
  put_all(dbias, db.data(), channels);
}

}  // namespace

void layer_norm(View y, View mean, View rstd, View x, View weight, View bias, double eps, bool centered) {
  with_floating_compute_type(x.dtype,
                             [&]<class T>() { layer_norm_rows<T>(y, mean, rstd, x, weight, bias, eps, centered); });
}
void layer_norm_backward(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight) {
  with_floating_compute_type(
      x.dtype, [&]<class T>() { layer_norm_backward_rows<T>(dx, dweight, dbias, dy, x, mean, rstd, weight); });
}
void group_norm(View y, View mean, View rstd, View x, View weight, View bias, double eps) {
  with_floating_compute_type(x.dtype, [&]<class T>() { group_norm_rows<T>(y, mean, rstd, x, weight, bias, eps); });
}
void group_norm_backward(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight) {
  with_floating_compute_type(
      x.dtype, [&]<class T>() { group_norm_backward_rows<T>(dx, dweight, dbias, dy, x, mean, rstd, weight); });
}
bool doubtful(const float* mean, const float* rstd, int64_t n) {
  bool found = false;
  for (int64_t i = 0; i < n; ++i)
    found |= rstd[i] < 1e-16f || rstd[i] > 1e16f || (mean && std::abs(mean[i]) * rstd[i] > 1024.0f);
  return found;
}
GENESIS_KERNEL(layer_norm)
GENESIS_KERNEL(layer_norm_backward)
GENESIS_KERNEL(group_norm)
GENESIS_KERNEL(group_norm_backward)
GENESIS_KERNEL(doubtful)

}  // namespace genesis::kernels::GENESIS_ISA
