// Averages are computed tap by tap along a line of outputs: one vectorized loop over consecutive outputs for each tap.
// Maxima, which include positions, are computed in vectors of outputs. Windows of different sizes (adaptive pooling),
// and windows that are longer than the line of outputs, are processed one by one.
#include "kernels/pool/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/parallel.h"
#include "kernels/conv/tiles.h"
#include "kernels/elementwise/loops.h"
#include "kernels/pool/windows.h"
#include "kernels/scratch.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// Outputs [first, last) read the existing input o * stride + offset.
struct TapRange {
  int64_t offset, first, last;
  TapRange(const PoolShape& s, int64_t tap) : offset(tap * s.dilation[2] - s.padding[2]) {
    const int64_t stride = s.stride[2];
    first = offset >= 0 ? 0 : std::min(s.out[2], ceil_div(-offset, stride));
    last = s.in[2] <= offset ? first : std::clamp(ceil_div(s.in[2] - offset, stride), first, s.out[2]);
  }
};

// Calls f with the stride as a constant if it is a common one.
template <class F>
void with_stride(int64_t stride, F f) {
  if (stride == 1) f(std::integral_constant<int64_t, 1>());
  else if (stride == 2) f(std::integral_constant<int64_t, 2>());
  else if (stride == 3) f(std::integral_constant<int64_t, 3>());
  else f(stride);
}

bool tap_by_tap(const PoolShape& s) { return !s.adaptive && s.kernel[2] <= 2 * s.out[2]; }

// ----- Maxima -----

// The shape with lines merged where windows span complete lines: a global pool is one run over its plane.
PoolShape merged(PoolShape s) {
  for (int d = 1; d >= 0; --d) {
    if (s.adaptive || s.out[2] != 1 || s.kernel[2] != s.in[2] || s.padding[2] != 0) break;
    if (s.dilation[2] != 1 || s.dilation[d] != 1 || s.padding[d] != 0) break;
    const int64_t line = s.in[2];
    s.in[2] = s.in[d] * line, s.out[2] = s.out[d], s.kernel[2] = s.kernel[d] * line, s.stride[2] = s.stride[d] * line;
    s.in[d] = s.out[d] = s.kernel[d] = s.stride[d] = 1;
  }
  return s;
}

template <class T>
const Scratch<T> padded_plane;

// Integers of the size of T, as many as a vector has lanes.
template <class T>
using IntVec = decltype(Vec<T>{} > Vec<T>{});
template <class T>
using Int = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// Vectors of consecutive outputs, as in a convolution (conv.cpp): the plane is copied into a grid in which consecutive
// outputs read consecutive inputs for each tap. The padding holds the smallest value.
template <class T>
struct MaxPlan {
  static constexpr int64_t lanes = kLanes<T>;
  Axis axes[3];
  Planes<T> planes;
  std::vector<int64_t> offsets;         // of taps, in the grid
  std::vector<Spot> spots;              // vectors of outputs
  std::vector<Int<T>> steps;            // from the position of a window to those of its taps, in x
  std::vector<Int<T>> origins, firsts;  // per lane: the position of its window, and the offset of its first element

  explicit MaxPlan(const PoolShape& s)
      : axes{axis(s, 0), axis(s, 1), axis(s, 2)},
        planes(axes, false),
        offsets(planes.offsets()),
        spots(cover(planes, axes, std::numeric_limits<int64_t>::max())) {
    for (const Tap& a : axes[0].taps)
      for (const Tap& b : axes[1].taps)
        for (const Tap& c : axes[2].taps) steps.push_back(place(s, a.offset, b.offset, c.offset));
    origins.resize(spots.size() * lanes);
    firsts.resize(spots.size() * lanes);
    const Windows w0(s, 0), w1(s, 1), w2(s, 2);
    for (size_t v = 0; v < spots.size(); ++v)
      for (int64_t lane = 0, o = spots[v].first; lane < lanes; ++lane) {
        if (!(spots[v].lanes >> lane & 1)) continue;
        const int64_t o0 = o / s.out[2] / s.out[1], o1 = o / s.out[2] % s.out[1], o2 = o % s.out[2];
        const size_t at = v * lanes + static_cast<size_t>(lane);
        origins[at] =
            place(s, o0 * s.stride[0] - s.padding[0], o1 * s.stride[1] - s.padding[1], o2 * s.stride[2] - s.padding[2]);
        firsts[at] = place(s, std::min(w0.begin[o0], s.in[0] - 1), std::min(w1.begin[o1], s.in[1] - 1),
                           std::min(w2.begin[o2], s.in[2] - 1)) -
                     origins[at];
        ++o;
      }
  }

 private:
  static Axis axis(const PoolShape& s, int d) {
    Axis a{s.in[d], s.out[d], s.stride[d], -s.padding[d], {}};
    for (int64_t t = 0; t < s.kernel[d]; ++t) a.taps.push_back({t, t * s.dilation[d]});
    return a;
  }
  static Int<T> place(const PoolShape& s, int64_t i, int64_t j, int64_t k) {
    return static_cast<Int<T>>((i * s.in[1] + j) * s.in[2] + k);
  }
};

template <class T>
inline void write_lanes(T* out, Vec<T> v, const Spot& spot) {
  if (spot.count == kLanes<T>) store(out, v);  // usually avoids a call
  else put<T>(out, v, spot);
}

// Computes `n` vectors of outputs of one plane, whose grid has been filled.
template <int n, class T, class Index>
__attribute__((always_inline)) inline void max_of_vectors(const MaxPlan<T>& plan, const T* grid, size_t first,
                                                          T* values, Index* places) {
  constexpr int64_t lanes = kLanes<T>;
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  // Local copies: members accessed through a reference would be reloaded after every store.
  const int64_t *const offset = plan.offsets.data(), taps = static_cast<int64_t>(plan.offsets.size());
  const Int<T>* const step = plan.steps.data();
  const Spot* const spot = plan.spots.data() + first;
  const T* from[n];
  IntVec<T> where[n];
  Vec<T> best[n];
#pragma GCC unroll 4
  for (int j = 0; j < n; ++j) {
    from[j] = grid + spot[j].at;
    std::memcpy(&where[j], plan.firsts.data() + (first + j) * lanes, sizeof where[j]);
    best[j] = broadcast(lowest);
  }
  for (int64_t t = 0; t < taps; ++t) {
    const IntVec<T> here = step[t] - IntVec<T>{};
#pragma GCC unroll 4
    for (int j = 0; j < n; ++j) {
      const Vec<T> value = load(from[j] + offset[t]);
      const IntVec<T> take = (value > best[j]) | (value != value);
      best[j] = take ? value : best[j];
      where[j] = take ? here : where[j];
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < n; ++j) {
    IntVec<T> place;
    std::memcpy(&place, plan.origins.data() + (first + j) * lanes, sizeof place);
    place += where[j];
    write_lanes(values + spot[j].first, best[j], spot[j]);
    if constexpr (sizeof(Index) == sizeof(T)) {
      write_lanes(reinterpret_cast<T*>(places + spot[j].first), (Vec<T>)place, spot[j]);
    } else {
      Index* to = places + spot[j].first;
      for (int64_t lane = 0; lane < lanes; ++lane)
        if (spot[j].lanes >> lane & 1) *to++ = static_cast<Index>(place[lane]);
    }
  }
}

template <class T, class Index>
void max_vectors(const PoolShape& s, const T* x, T* y, Index* index) {
  const MaxPlan<T> plan(s);
  const int64_t in_size = s.in_size(), out_size = s.out_size(), taps = static_cast<int64_t>(plan.offsets.size());
  parallel_for(s.planes, ceil_div(kLightGrain, out_size * taps + 1), [&](int64_t begin, int64_t end) {
    T* const grid = padded_plane<T>.get(plan.planes.plane() + kLanes<T>);
    for (int64_t p = begin; p < end; ++p) {
      plan.planes.fill(grid, x + p * in_size, -std::numeric_limits<T>::infinity());
      T* const values = y + p * out_size;
      Index* const places = index + p * out_size;
      size_t v = 0;
      for (; v + 4 <= plan.spots.size(); v += 4) max_of_vectors<4>(plan, grid, v, values, places);
      for (; v < plan.spots.size(); ++v) max_of_vectors<1>(plan, grid, v, values, places);
    }
  });
}

// The largest element so far, and its position.
template <class T>
struct Largest {
  T value;
  int64_t place;
  void take(T other, int64_t at) {
    if (other > value || other != other) value = other, place = at;
  }
};

// Processes n elements starting at x[at] in vectors. Each lane has its own maximum; ties go to the first position, NaNs
// to the last.
template <class T>
void take_run(Largest<T>& largest, const T* x, int64_t at, int64_t n) {
  constexpr int lanes = kLanes<T>, chains = 2;
  int64_t i = 0;
  if (n >= 2 * chains * lanes && n <= std::numeric_limits<int32_t>::max()) {
    Int<T> numbers[chains * lanes];
    std::iota(numbers, numbers + chains * lanes, Int<T>(0));
    Vec<T> best[chains];
    IntVec<T> where[chains], here[chains];
#pragma GCC unroll 2
    for (int j = 0; j < chains; ++j) {
      best[j] = load(x + at + j * lanes);
      std::memcpy(&here[j], numbers + j * lanes, sizeof here[j]);
      where[j] = here[j];
    }
    for (i = chains * lanes; i + chains * lanes <= n; i += chains * lanes)
#pragma GCC unroll 2
      for (int j = 0; j < chains; ++j) {
        const Vec<T> value = load(x + at + i + j * lanes);
        here[j] += chains * lanes;
        const IntVec<T> take = (value > best[j]) | (value != value);
        best[j] = take ? value : best[j];
        where[j] = take ? here[j] : where[j];
      }
    Largest<T> found{best[0][0], where[0][0]};
    for (int j = 0; j < chains; ++j)
      for (int l = 0; l < lanes; ++l) {
        const T value = best[j][l];
        const int64_t place = where[j][l];
        if (value != value ? found.value == found.value || place > found.place
                           : value > found.value || (value == found.value && place < found.place))
          found = {value, place};
      }
    largest.take(found.value, at + found.place);
  }
  for (; i < n; ++i) largest.take(x[at + i], at + i);
}

template <class T, class Index>
void max_windows(const PoolShape& s, const T* x, T* y, Index* index) {
  const Windows w0(s, 0), w1(s, 1), w2(s, 2);
  const int64_t lines = s.out[0] * s.out[1], n = s.out[2], in_size = s.in_size();
  parallel_for(s.planes * lines, ceil_div(kLightGrain, in_size / lines + 1), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t o0 = line % lines / s.out[1], o1 = line % s.out[1];
      const T* plane = x + line / lines * in_size;
      for (int64_t o = 0; o < n; ++o) {
        Largest<T> largest{
            std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : -std::numeric_limits<T>::infinity(),
            (std::min(w0.begin[o0], s.in[0] - 1) * s.in[1] + std::min(w1.begin[o1], s.in[1] - 1)) * s.in[2] +
                std::min(w2.begin[o], s.in[2] - 1)};
        // complete lines: one run
        const bool whole = w1.step == 1 && w2.step == 1 && w2.end[o] - w2.begin[o] == s.in[2];
        for (int64_t i = w0.begin[o0]; i < w0.end[o0]; i += w0.step)
          if (whole) {
            take_run(largest, plane, (i * s.in[1] + w1.begin[o1]) * s.in[2], (w1.end[o1] - w1.begin[o1]) * s.in[2]);
          } else {
            for (int64_t j = w1.begin[o1]; j < w1.end[o1]; j += w1.step)
              for (int64_t k = w2.begin[o]; k < w2.end[o]; k += w2.step) {
                const int64_t at = (i * s.in[1] + j) * s.in[2] + k;
                largest.take(plane[at], at);
              }
          }
        y[line * n + o] = largest.value;
        index[line * n + o] = static_cast<Index>(largest.place);
      }
    }
  });
}

template <class T, class Index>
void max_planes(const PoolShape& s, const T* x, T* y, Index* index) {
  const int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  if (s.adaptive || taps > 2 * s.out_size() || s.in_size() > std::numeric_limits<int32_t>::max())
    max_windows(s, x, y, index);
  else max_vectors(s, x, y, index);
}

// ----- Averages -----

template <class T>
T sum_run(const T* x, int64_t n) {
  constexpr int lanes = kLanes<T>;
  if (n < lanes) {
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += x[i];
    return total;
  }
  Vec<T> a = load(x), b{}, c{}, d{};
  int64_t i = lanes;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a += load(x + i);
    b += load(x + i + lanes);
    c += load(x + i + 2 * lanes);
    d += load(x + i + 3 * lanes);
  }
  for (; i + lanes <= n; i += lanes) b += load(x + i);
  if (i < n) c += load(x + i, Mask<T>(n - i));
  return across<T>((a + b) + (c + d));
}

template <class T, class A, class B>
void add_lines(T* to, A to_step, const T* from, B from_step, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i * to_step] += from[i * from_step];
}

// A line of outputs from a line of inputs: sums, or in the backward pass, additions to the inputs.
template <class T, bool backward>
void avg_line(const PoolShape& s, const std::vector<TapRange>& taps, std::conditional_t<backward, T, const T>* x,
              std::conditional_t<backward, const T, T>* y) {
  for (const TapRange& r : taps)
    with_stride(s.stride[2], [&](auto stride) {
      auto* from = x + r.first * stride + r.offset;
      auto* to = y + r.first;
      const int64_t n = r.last - r.first;
      if constexpr (backward) add_lines<T>(from, stride, to, 1, n);
      else add_lines<T>(to, 1, from, stride, n);
    });
}

// The same for all lines of the input that the outputs read, tap by tap if `taps` is not empty. The lines are added up
// first; in the backward pass, all receive the same addition. `whole` has room for one line.
template <class T, bool backward>
void avg_lines(const PoolShape& s, const Windows& w2, const std::vector<TapRange>& taps,
               const std::vector<std::conditional_t<backward, T*, const T*>>& lines, T* whole,
               std::conditional_t<backward, const T, T>* y) {
  const bool one = lines.size() == 1;
  auto* const line = one ? lines[0] : whole;
  if (!one) {
    std::fill_n(whole, s.in[2], T(0));
    if constexpr (!backward)
      for (const T* from : lines) add_lines<T>(whole, 1, from, 1, s.in[2]);
  }
  if (!taps.empty()) {
    avg_line<T, backward>(s, taps, line, y);
  } else {
    for (int64_t o = 0; o < s.out[2]; ++o) {
      if constexpr (backward)
        for (int64_t k = w2.begin[o]; k < w2.end[o]; ++k) line[k] += y[o];
      else y[o] = sum_run(line + w2.begin[o], w2.end[o] - w2.begin[o]);
    }
  }
  if constexpr (backward)
    if (!one)
      for (T* to : lines) add_lines<T>(to, 1, whole, 1, s.in[2]);
}

template <class T, bool backward>
void avg_planes(const PoolShape& shape, std::conditional_t<backward, T, const T>* x,
                std::conditional_t<backward, const T, T>* y) {
  const PoolShape s = merged(shape);
  const Windows w0(s, 0), w1(s, 1), w2(s, 2);
  const int64_t lines = s.out[0] * s.out[1], n = s.out[2], in_size = s.in_size();
  if (s.out_size() == 1 && w2.end[0] - w2.begin[0] == in_size) {  // one window covers the plane
    T scale;
    factors(s, w0, w1, w2, 0, 0, &scale);
    return parallel_for(s.planes, ceil_div(kLightGrain, in_size), [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        if constexpr (backward) std::fill_n(x + p * in_size, in_size, y[p] * scale);
        else y[p] = sum_run(x + p * in_size, in_size) * scale;
      }
    });
  }
  std::vector<TapRange> taps;
  if (tap_by_tap(s))
    for (int64_t t = 0; t < s.kernel[2]; ++t) taps.emplace_back(s, t);
  std::vector<T> factor(lines * n);
  for (int64_t line = 0; line < lines; ++line)
    factors(s, w0, w1, w2, line / s.out[1], line % s.out[1], factor.data() + line * n);
  // In the backward pass, the lines of a plane add to the same inputs, so a plane is the smallest unit of work.
  const int64_t unit = backward ? lines : 1;
  parallel_for(s.planes * lines / unit, ceil_div(kLightGrain, ceil_div(in_size * unit, lines)),
               [&](int64_t first, int64_t last) {
                 std::vector<T> scaled(backward ? n : 0), whole(s.in[2]);
                 std::vector<std::conditional_t<backward, T*, const T*>> rows;
                 if constexpr (backward) std::fill_n(x + first * in_size, (last - first) * in_size, T(0));
                 for (int64_t line = first * unit; line < last * unit; ++line) {
                   const int64_t at = line % lines, o0 = at / s.out[1], o1 = at % s.out[1];
                   auto* plane = x + line / lines * in_size;
                   auto* result = y + line * n;
                   const T* scale = factor.data() + at * n;
                   auto* sums = result;
                   if constexpr (backward) {
                     for (int64_t o = 0; o < n; ++o) scaled[o] = result[o] * scale[o];
                     sums = scaled.data();
                   } else {
                     std::fill_n(sums, n, T(0));
                   }
                   rows.clear();
                   for (int64_t i = w0.begin[o0]; i < w0.end[o0]; ++i)
                     for (int64_t j = w1.begin[o1]; j < w1.end[o1]; ++j)
                       rows.push_back(plane + (i * s.in[1] + j) * s.in[2]);
                   avg_lines<T, backward>(s, w2, taps, rows, whole.data(), sums);
                   if constexpr (!backward)
                     for (int64_t o = 0; o < n; ++o) sums[o] *= scale[o];
                 }
               });
}

}  // namespace

void max_pool(DType dtype, const PoolShape& shape, const void* x, void* y, DType index_dtype, void* index) {
  if (dtype == DType::Int64)
    return max_windows(shape, static_cast<const int64_t*>(x), static_cast<int64_t*>(y), static_cast<int64_t*>(index));
  by_types(dtype, index_dtype, [&]<class T, class Index>(T, Index) {
    max_planes(shape, static_cast<const T*>(x), static_cast<T*>(y), static_cast<Index*>(index));
  });
}

void avg_pool(DType dtype, const PoolShape& shape, const void* x, void* y) {
  if (dtype == DType::Float32) avg_planes<float, false>(shape, static_cast<const float*>(x), static_cast<float*>(y));
  else avg_planes<double, false>(shape, static_cast<const double*>(x), static_cast<double*>(y));
}

void avg_pool_backward(DType dtype, const PoolShape& shape, const void* dy, void* dx) {
  if (dtype == DType::Float32) avg_planes<float, true>(shape, static_cast<float*>(dx), static_cast<const float*>(dy));
  else avg_planes<double, true>(shape, static_cast<double*>(dx), static_cast<const double*>(dy));
}

void plane_gather(DType dtype, int64_t planes, int64_t few, int64_t many, const void* x, DType index_dtype,
                  const void* index, void* y) {
  by_types(dtype, index_dtype, [&]<class T, class Index>(T, Index) {
    parallel_for(planes, ceil_div(kLightGrain, few + 1), [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        const T* from = static_cast<const T*>(x) + p * many;
        const Index* at = static_cast<const Index*>(index) + p * few;
        T* to = static_cast<T*>(y) + p * few;
        for (int64_t i = 0; i < few; ++i) to[i] = from[at[i]];
      }
    });
  });
}

void plane_scatter(DType dtype, int64_t planes, int64_t few, int64_t many, const void* y, DType index_dtype,
                   const void* index, void* x, bool sum) {
  by_types(dtype, index_dtype, [&]<class T, class Index>(T, Index) {
    parallel_for(planes, ceil_div(kLightGrain, few + many + 1), [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        const T* from = static_cast<const T*>(y) + p * few;
        const Index* at = static_cast<const Index*>(index) + p * few;
        T* to = static_cast<T*>(x) + p * many;
        std::fill_n(to, many, T(0));
        if (sum) {
          for (int64_t i = 0; i < few; ++i) to[at[i]] += from[i];
        } else {
          for (int64_t i = 0; i < few; ++i) to[at[i]] = from[i];
        }
      }
    });
  });
}

GENESIS_KERNEL(max_pool)
GENESIS_KERNEL(avg_pool)
GENESIS_KERNEL(avg_pool_backward)
GENESIS_KERNEL(plane_gather)
GENESIS_KERNEL(plane_scatter)

}  // namespace genesis::kernels::GENESIS_ISA
