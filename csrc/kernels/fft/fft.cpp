// Three algorithms for a stack of lines, chosen by their length:
// - groups: transforms as many lines at once as a vector has lanes (plan.h). This is the usual case.
// - four steps: a long line, or one of few, is treated as a matrix whose columns and rows are transformed as groups.
// - Bluestein: a length with a prime factor above 13 becomes a convolution, computed with transforms of a power of two.
#include "kernels/fft/fft.h"

#include <algorithm>

#include "core/parallel.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/fft/plan.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int64_t kLongest = 4096;  // maximum length of lines transformed in groups: longer ones do not fit in L2
constexpr int64_t kShortest = 64;   // minimum length for which four steps pay off

// The start and the element stride of the lines along a dimension of a view.
class Place {
 public:
  Place(const View& v, int dim) : v_(v), dim_(dim), step(v.strides[dim]) {}
  int64_t operator()(int64_t line) const {
    int64_t at = 0;
    for (int d = v_.ndim - 1; d >= 0; --d) {
      if (d == dim_) continue;
      at += line % v_.shape[d] * v_.strides[d];
      line /= v_.shape[d];
    }
    return at;
  }

 private:
  View v_;
  int dim_;

 public:
  int64_t step;
};

template <class T>
struct Buffers {
  explicit Buffers(int64_t n)
      : memory(new (std::align_val_t(64)) Z<T>[static_cast<size_t>(2 * n)]), x(memory), spare(memory + n) {}
  ~Buffers() { ::operator delete[](memory, std::align_val_t(64)); }
  Buffers(const Buffers&) = delete;
  Z<T>* memory;
  Z<T>*x, *spare;
};

// ---- groups of lines ------------------------------------------------------------------------------------------------

// Complex lines that start at data + offset[l], with an element stride of `step`.
template <class C, class T = std::remove_const_t<C>>
struct Group {
  C* data;
  int64_t step;
  int used;
  int64_t offset[kLanes<typename T::value_type>];

  bool neighbours() const {
    if (used < kLanes<typename T::value_type>) return false;
    for (int l = 1; l < used; ++l)
      if (offset[l] != offset[l - 1] + 1) return false;
    return true;
  }
};

template <class C>
Group<C> group_of(C* data, const Place& place, int64_t first, int64_t lines) {
  using T = typename std::remove_const_t<C>::value_type;
  Group<C> g{data, place.step, static_cast<int>(std::min<int64_t>(kLanes<T>, lines - first)), {}};
  for (int l = 0; l < kLanes<T>; ++l) g.offset[l] = place(first + std::min(l, g.used - 1));
  return g;
}

template <class T>
void read(Z<T>* to, const Group<const std::complex<T>>& g, int64_t n) {
  if (g.step == 1) {
    Lines<const T> lines{{}, g.used};
    for (int l = 0; l < kLanes<T>; ++l) lines.at[l] = reinterpret_cast<const T*>(g.data + g.offset[l]);
    load<T>(&to->re, 1, lines, 2 * n);
  } else if (g.neighbours()) {
    load_across<T>(to, g.data + g.offset[0], g.step, n);
  } else {
    for (int64_t i = 0; i < n; ++i)
      for (int l = 0; l < kLanes<T>; ++l) {
        const std::complex<T> z = g.data[g.offset[l] + i * g.step];
        to[i].re[l] = z.real();
        to[i].im[l] = z.imag();
      }
  }
}
template <class T>
void write(const Group<std::complex<T>>& g, const Z<T>* from, int64_t n) {
  if (g.step == 1) {
    Lines<T> lines{{}, g.used};
    for (int l = 0; l < kLanes<T>; ++l) lines.at[l] = reinterpret_cast<T*>(g.data + g.offset[l]);
    store<T>(lines, &from->re, 1, 2 * n);
  } else if (g.neighbours()) {
    store_across<T>(g.data + g.offset[0], g.step, from, n);
  } else {
    for (int64_t i = 0; i < n; ++i)
      for (int l = 0; l < g.used; ++l) g.data[g.offset[l] + i * g.step] = {from[i].re[l], from[i].im[l]};
  }
}

template <class T>
void multiply(Z<T>* x, int64_t n, T scale) {
  if (scale != 1)
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] * scale;
}

// The number of groups per task.
inline int64_t grain(int64_t n) { return std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)); }
inline int64_t groups(int64_t lines, int lanes) { return ceil_div(lines, lanes); }

template <class T, bool Inverse, class After>
void each_group(std::complex<T>* y, const Place& to, const std::complex<T>* x, const Place& from, int64_t lines,
                int64_t n, const After& after) {
  const auto plan = plan_of<Plan<T>>(n);
  parallel_for(groups(lines, kLanes<T>), grain(n), [&](int64_t begin, int64_t end) {
    const Buffers<T> buffers(n);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g * kLanes<T>;
      read<T>(buffers.x, group_of(x, from, first, lines), n);
      Z<T>* const result = transform<T, Inverse>(*plan, buffers.x, buffers.spare);
      after(result, first);
      write<T>(group_of(y, to, first, lines), result, n);
    }
  });
}

// ---- four steps -----------------------------------------------------------------------------------------------------

// n = rows * cols with factors as equal as possible; rows is 1 for a prime n.
inline int64_t rows_of(int64_t n) {
  int64_t best = 1;
  for (int64_t r = 2; r * r <= n; ++r)
    if (n % r == 0) best = r;
  return best;
}

template <class T>
struct SteppedPlan {
  int64_t rows, cols;
  std::vector<T> re, im;  // exp(-2 pi i r c / n)

  explicit SteppedPlan(int64_t n) : rows(rows_of(n)), cols(n / rows) {
    re.reserve(static_cast<size_t>(n));
    im.reserve(static_cast<size_t>(n));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c) {
        const std::complex<double> w = root(r * c, n);
        re.push_back(static_cast<T>(w.real()));
        im.push_back(static_cast<T>(w.imag()));
      }
  }
};

template <class T, bool Inverse>
void transform_lines(std::complex<T>* y, const Place& to, const std::complex<T>* x, const Place& from, int64_t lines,
                     int64_t n, T scale);

// One line. With j = r cols + c and k = s + rows t: the transform over r, a twiddle factor, and the transform over c.
template <class T, bool Inverse>
void four_steps(std::complex<T>* y, int64_t y_step, const std::complex<T>* x, int64_t x_step, int64_t n, T scale) {
  const auto plan = plan_of<SteppedPlan<T>>(n);
  const int64_t rows = plan->rows, cols = plan->cols;
  std::vector<std::complex<T>> middle(static_cast<size_t>(n));
  const int64_t shape[] = {rows, cols}, x_strides[] = {cols * x_step, x_step}, own[] = {cols, 1};
  const int64_t y_strides[] = {y_step, rows * y_step};  // element (s, t)
  const View in{nullptr, DType::Complex64, 2, shape, x_strides}, between{nullptr, DType::Complex64, 2, shape, own};
  const View out{nullptr, DType::Complex64, 2, shape, y_strides};
  each_group<T, Inverse>(middle.data(), Place(between, 0), x, Place(in, 0), cols, rows, [&](Z<T>* z, int64_t first) {
    const bool whole = first + kLanes<T> <= cols;
    for (int64_t s = 1; s < rows; ++s) {
      const T *re = plan->re.data() + s * cols + first, *im = plan->im.data() + s * cols + first;
      Z<T> w{};
      for (int l = 0; !whole && first + l < cols; ++l) w.re[l] = re[l], w.im[l] = im[l];
      if (whole) {
        std::memcpy(&w.re, re, sizeof w.re);
        std::memcpy(&w.im, im, sizeof w.im);
      }
      if (Inverse) w = w.conj();
      z[s] = {z[s].re * w.re - z[s].im * w.im, z[s].re * w.im + z[s].im * w.re};
    }
  });
  transform_lines<T, Inverse>(y, Place(out, 1), middle.data(), Place(between, 1), rows, cols, scale);
}

// ---- Bluestein ------------------------------------------------------------------------------------------------------

// j k = (j^2 + k^2 - (k - j)^2) / 2 turns the sum into a convolution with exp(i pi j^2 / n), computed with length m.
template <class T>
struct ChirpPlan {
  int64_t m = 1;
  std::vector<std::complex<T>> chirp, spectrum;  // exp(-i pi j^2 / n); the transform of its conjugate

  explicit ChirpPlan(int64_t n) {
    while (m < 2 * n - 1) m *= 2;
    std::vector<std::complex<T>> kernel(static_cast<size_t>(m));
    for (int64_t j = 0; j < n; ++j) {
      const auto square = static_cast<int64_t>(static_cast<__int128>(j) * j % (2 * n));
      const std::complex<double> w = root(square, 2 * n);
      chirp.push_back(std::complex<T>(w));
      kernel[static_cast<size_t>(j)] = std::complex<T>(std::conj(w));
      if (j > 0) kernel[static_cast<size_t>(m - j)] = std::complex<T>(std::conj(w));
    }
    spectrum.resize(static_cast<size_t>(m));
    const int64_t shape[] = {m}, strides[] = {1};
    const View line{nullptr, DType::Complex64, 1, shape, strides};
    transform_lines<T, false>(spectrum.data(), Place(line, 0), kernel.data(), Place(line, 0), 1, m,
                              T(1) / static_cast<T>(m));
  }
};

// y[i] = x[i] * w[i] * scale, where w is conjugated if Inverse.
template <class T, bool Inverse>
void modulate(std::complex<T>* y, int64_t y_step, const std::complex<T>* x, int64_t x_step, const std::complex<T>* w,
              int64_t n, T scale) {
  const auto loop = [&](int64_t y_step, int64_t x_step) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T re = w[i].real() * scale, im = (Inverse ? -w[i].imag() : w[i].imag()) * scale;
      const std::complex<T> z = x[i * x_step];
      y[i * y_step] = {z.real() * re - z.imag() * im, z.real() * im + z.imag() * re};
    }
  };
  if (y_step == 1 && x_step == 1) loop(1, 1);
  else loop(y_step, x_step);
}

template <class T, bool Inverse>
void bluestein(std::complex<T>* y, const Place& to, const std::complex<T>* x, const Place& from, int64_t lines,
               int64_t n, T scale) {
  const auto plan = plan_of<ChirpPlan<T>>(n);
  const int64_t m = plan->m, together = std::min(lines, std::max<int64_t>(kLanes<T>, (int64_t{1} << 17) / m));
  std::vector<std::complex<T>> a(static_cast<size_t>(together * m)), b(a.size());
  const std::complex<T>*chirp = plan->chirp.data(), *spectrum = plan->spectrum.data();
  for (int64_t first = 0; first < lines; first += together) {
    const int64_t count = std::min(together, lines - first);
    const int64_t shape[] = {count, m}, strides[] = {m, 1};
    const Place stack(View{nullptr, DType::Complex64, 2, shape, strides}, 1);
    const auto each = [&](auto f) {
      parallel_for(count, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
        for (int64_t l = begin; l < end; ++l) f(first + l, a.data() + l * m, b.data() + l * m);
      });
    };
    each([&](int64_t line, std::complex<T>* a, std::complex<T>*) {
      modulate<T, Inverse>(a, 1, x + from(line), from.step, chirp, n, 1);
      std::fill(a + n, a + m, std::complex<T>());
    });
    transform_lines<T, Inverse>(b.data(), stack, a.data(), stack, count, m, 1);
    each([&](int64_t, std::complex<T>*, std::complex<T>* b) { modulate<T, Inverse>(b, 1, b, 1, spectrum, m, 1); });
    transform_lines<T, !Inverse>(a.data(), stack, b.data(), stack, count, m, 1);
    each([&](int64_t line, std::complex<T>* a, std::complex<T>*) {
      modulate<T, Inverse>(y + to(line), to.step, a, 1, chirp, n, scale);
    });
  }
}

// ---- all algorithms -------------------------------------------------------------------------------------------------

template <class T, bool Inverse>
void transform_lines(std::complex<T>* y, const Place& to, const std::complex<T>* x, const Place& from, int64_t lines,
                     int64_t n, T scale) {
  if (n > 1 && factors_of(n).empty()) return bluestein<T, Inverse>(y, to, x, from, lines, n, scale);
  const bool few = lines < kLanes<T> && n >= kShortest && rows_of(n) >= 4;
  if (few || (n > kLongest && rows_of(n) > 1)) {
    for (int64_t l = 0; l < lines; ++l) four_steps<T, Inverse>(y + to(l), to.step, x + from(l), from.step, n, scale);
    return;
  }
  each_group<T, Inverse>(y, to, x, from, lines, n, [&](Z<T>* z, int64_t) { multiply<T>(z, n, scale); });
}

template <class F>
void by_type(DType t, F&& f) {
  if (t == DType::Complex64) f(float{});
  else if (t == DType::Complex128) f(double{});
  else unsupported(t);
}

// Real lines are transformed in pairs: line 2 l is the real part of lane l, line 2 l + 1 the imaginary part.
template <class T>
void read_plane(Vector<T>* to, const T* x, const Place& from, int64_t line, int64_t lines, int64_t n) {
  Lines<const T> rows{{}, kLanes<T>};
  for (int l = 0; l < kLanes<T>; ++l) rows.at[l] = x + from(std::min(line + 2 * l, lines - 1));
  if (from.step == 1) return load<T>(to, 2, rows, n);
  for (int64_t i = 0; i < n; ++i)
    for (int l = 0; l < kLanes<T>; ++l) to[2 * i][l] = rows.at[l][i * from.step];
}
template <class T>
void write_plane(T* y, const Place& to, int64_t line, int64_t lines, const Vector<T>* from, int64_t n) {
  Lines<T> rows{{}, 0};
  for (int l = 0; l < kLanes<T> && line + 2 * l < lines; ++l) rows.at[rows.used++] = y + to(line + 2 * l);
  if (to.step == 1) return store<T>(rows, from, 2, n);
  for (int64_t i = 0; i < n; ++i)
    for (int l = 0; l < rows.used; ++l) rows.at[l][i * to.step] = from[2 * i][l];
}
// The complex lines `line`, line + 2, ...
template <class C>
Group<C> alternate(C* data, const Place& place, int64_t line, int64_t lines) {
  using T = typename std::remove_const_t<C>::value_type;
  Group<C> g{data, place.step, 0, {}};
  for (int l = 0; l < kLanes<T>; ++l) {
    g.offset[l] = place(std::min(line + 2 * l, lines - 1));
    g.used += line + 2 * l < lines;
  }
  return g;
}

bool in_pairs(int64_t lines, int64_t n, int lanes) {
  return n > 0 && n <= kLongest && lines >= lanes && (n == 1 || !factors_of(n).empty());
}

template <class T>
void real_pairs(std::complex<T>* y, const Place& to, const T* x, const Place& from, int64_t lines, int64_t n, T scale) {
  const auto plan = plan_of<Plan<T>>(n);
  const int64_t half = n / 2 + 1;
  parallel_for(groups(lines, 2 * kLanes<T>), grain(n), [&](int64_t begin, int64_t end) {
    const Buffers<T> buffers(n), parts(half);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t line = g * 2 * kLanes<T>;
      read_plane<T>(&buffers.x->re, x, from, line, lines, n);
      read_plane<T>(&buffers.x->im, x, from, line + 1, lines, n);
      const Z<T>* z = transform<T, false>(*plan, buffers.x, buffers.spare);
      const T s = scale / 2;
      for (int64_t k = 0; k < half; ++k) {
        const Z<T> a = z[k] * s, b = z[k == 0 ? 0 : n - k].conj() * s;
        parts.x[k] = a + b;
        parts.spare[k] = (a - b).template rotated<false>();
      }
      write<T>(alternate(y, to, line, lines), parts.x, half);
      if (line + 1 < lines) write<T>(alternate(y, to, line + 1, lines), parts.spare, half);
    }
  });
}

template <class T>
void pairs_to_real(T* y, const Place& to, const std::complex<T>* x, const Place& from, int64_t lines, int64_t n,
                   T scale) {
  const auto plan = plan_of<Plan<T>>(n);
  const int64_t half = n / 2 + 1;
  parallel_for(groups(lines, 2 * kLanes<T>), grain(n), [&](int64_t begin, int64_t end) {
    const Buffers<T> buffers(n), parts(half);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t line = g * 2 * kLanes<T>;
      read<T>(parts.x, alternate(x, from, line, lines), half);
      read<T>(parts.spare, alternate(x, from, std::min(line + 1, lines - 1), lines), half);
      for (int64_t k = 0; k < half; ++k) {
        Z<T> a = parts.x[k] * scale, b = parts.spare[k] * scale;
        if (k == 0 || 2 * k == n) a.im = b.im = Vector<T>{};  // zero for a real line
        buffers.x[k] = {a.re - b.im, a.im + b.re};
        if (k > 0) buffers.x[n - k] = {a.re + b.im, b.re - a.im};
      }
      const Z<T>* z = transform<T, true>(*plan, buffers.x, buffers.spare);
      write_plane<T>(y, to, line, lines, &z->re, n);
      write_plane<T>(y, to, line + 1, lines, &z->im, n);
    }
  });
}

// The same through memory, for lengths that are not transformed in groups. Calls f(pairs, first line, in, out, their
// place) for as many pairs at a time as fit in a buffer of moderate size.
template <class T, class F>
void each_pair(int64_t lines, int64_t n, F f) {
  const int64_t all = (lines + 1) / 2, together = std::min(all, std::max<int64_t>(kLanes<T>, (int64_t{1} << 17) / n));
  std::vector<std::complex<T>> in(static_cast<size_t>(together * n)), out(in.size());
  for (int64_t first = 0; first < all; first += together) {
    const int64_t pairs = std::min(together, all - first), shape[] = {pairs, n}, strides[] = {n, 1};
    f(pairs, 2 * first, in.data(), out.data(), Place(View{nullptr, DType::Complex64, 2, shape, strides}, 1));
  }
}

int64_t lines_of(const View& v, int dim) { return v.shape[dim] == 0 ? 0 : v.numel() / v.shape[dim]; }

}  // namespace

void fft(View y, View x, int dim, bool inverse, double scale) {
  by_type(y.dtype, [&]<class T>(T) {
    const auto run = inverse ? transform_lines<T, true> : transform_lines<T, false>;
    run(y.as<std::complex<T>>(), Place(y, dim), x.as<const std::complex<T>>(), Place(x, dim), lines_of(y, dim),
        y.shape[dim], static_cast<T>(scale));
  });
}
GENESIS_KERNEL(fft)

void fft_real(View y, View x, int dim, double scale) {
  by_type(y.dtype, [&]<class T>(T) {
    const int64_t n = x.shape[dim], lines = lines_of(x, dim), half = n / 2 + 1;
    const Place to(y, dim), from(x, dim);
    if (in_pairs(lines, n, kLanes<T>))
      return real_pairs<T>(y.as<std::complex<T>>(), to, x.as<const T>(), from, lines, n, static_cast<T>(scale));
    each_pair<T>(lines, n,
                 [&](int64_t pairs, int64_t first, std::complex<T>* in, std::complex<T>* out, const Place& own) {
                   for (int64_t p = 0; p < pairs; ++p) {
                     const T* const one = x.as<const T>() + from(first + 2 * p);
                     const bool second = first + 2 * p + 1 < lines;
                     const T* const other = second ? x.as<const T>() + from(first + 2 * p + 1) : one;
                     for (int64_t i = 0; i < n; ++i)
                       in[p * n + i] = {one[i * from.step], second ? other[i * from.step] : T(0)};
                   }
                   transform_lines<T, false>(out, own, in, own, pairs, n, static_cast<T>(scale / 2));
                   for (int64_t p = 0; p < pairs; ++p) {
                     const std::complex<T>* const z = out + p * n;
                     std::complex<T>* const one = y.as<std::complex<T>>() + to(first + 2 * p);
                     const bool second = first + 2 * p + 1 < lines;
                     std::complex<T>* const other = second ? y.as<std::complex<T>>() + to(first + 2 * p + 1) : nullptr;
                     for (int64_t k = 0; k < half; ++k) {
                       const std::complex<T> a = z[k], b = std::conj(z[k == 0 ? 0 : n - k]), d = a - b;
                       one[k * to.step] = a + b;
                       if (other) other[k * to.step] = {d.imag(), -d.real()};
                     }
                   }
                 });
  });
}
GENESIS_KERNEL(fft_real)

void fft_to_real(View y, View x, int dim, double scale) {
  by_type(x.dtype, [&]<class T>(T) {
    const int64_t n = y.shape[dim], lines = lines_of(y, dim), half = n / 2 + 1;
    const Place to(y, dim), from(x, dim);
    if (in_pairs(lines, n, kLanes<T>))
      return pairs_to_real<T>(y.as<T>(), to, x.as<const std::complex<T>>(), from, lines, n, static_cast<T>(scale));
    each_pair<T>(
        lines, n, [&](int64_t pairs, int64_t first, std::complex<T>* in, std::complex<T>* out, const Place& own) {
          for (int64_t p = 0; p < pairs; ++p) {
            const bool second = first + 2 * p + 1 < lines;
            const std::complex<T>* const one = x.as<const std::complex<T>>() + from(first + 2 * p);
            const std::complex<T>* const other = second ? x.as<const std::complex<T>>() + from(first + 2 * p + 1) : one;
            std::complex<T>* const z = in + p * n;
            for (int64_t k = 0; k < half; ++k) {
              std::complex<T> a = one[k * from.step], b = second ? other[k * from.step] : std::complex<T>();
              if (k == 0 || 2 * k == n) a = a.real(), b = b.real();
              z[k] = {a.real() - b.imag(), a.imag() + b.real()};
              if (k > 0) z[n - k] = {a.real() + b.imag(), b.real() - a.imag()};
            }
          }
          transform_lines<T, true>(out, own, in, own, pairs, n, static_cast<T>(scale));
          for (int64_t p = 0; p < pairs; ++p) {
            T* const one = y.as<T>() + to(first + 2 * p);
            const bool second = first + 2 * p + 1 < lines;
            T* const other = second ? y.as<T>() + to(first + 2 * p + 1) : nullptr;
            for (int64_t i = 0; i < n; ++i) {
              one[i * to.step] = out[p * n + i].real();
              if (other) other[i * to.step] = out[p * n + i].imag();
            }
          }
        });
  });
}
GENESIS_KERNEL(fft_to_real)

}  // namespace genesis::kernels::GENESIS_ISA
