// Scans. cumsum and cumprod are vectorized: a line of contiguous elements takes log2(width) shifted additions per
// vector, of which only one depends on the previous vector. Long lines are split into chunks, whose totals are computed
// first. If adjacent lines are contiguous, a tile of them is processed together. The other scans are plain loops over
// such tiles.
#include "kernels/reduce/scan.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/elementwise/loops.h"
#include "kernels/reduce/lines.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// ---- cumsum, cumprod ------------------------------------------------------------------------------------------------

struct Add {
  static constexpr int kStart = 0;
  template <class V>
  static V op(V a, V b) {
    return a + b;
  }
};
struct Multiply {
  static constexpr int kStart = 1;
  template <class V>
  static V op(V a, V b) {
    return a * b;
  }
};

// T is the type of the elements, A of the accumulator.
template <class Op, class T, class A>
struct Running {
  static constexpr int w = kLanes<A>;
  typedef T Narrow __attribute__((vector_size(w * sizeof(T))));

  static Vector<A> spread(A a) { return a - Vector<A>{}; }  // -0 + 0 would be +0
  [[gnu::always_inline]] static Vector<A> widened(const T* x) {
    Narrow v;
    std::memcpy(&v, x, sizeof v);
    return __builtin_convertvector(v, Vector<A>);
  }
  // Lane i becomes lane i - k; the first k lanes become the neutral element.
  template <int k, int... i>
  [[gnu::always_inline]] static Vector<A> shifted(Vector<A> v, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(spread(A(Op::kStart)), v, (i < k ? i : w + i - k)...);
  }
  template <int... i>
  [[gnu::always_inline]] static Vector<A> last(Vector<A> v, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(v, v, (0 * i + w - 1)...);
  }
  template <int k>
  [[gnu::always_inline]] static Vector<A> prefix(Vector<A> v) {
    if constexpr (k >= w) return v;
    else return prefix<2 * k>(Op::op(shifted<k>(v, std::make_integer_sequence<int, w>()), v));
  }

  [[gnu::noinline]] static void line(A& carry, T* y, const T* x, int64_t n) {
    int64_t i = 0;
    Vector<A> before = spread(carry);
    for (; i + w <= n; i += w) {
      const Vector<A> p = prefix<1>(widened(x + i));
      const Narrow out = __builtin_convertvector(Op::op(before, p), Narrow);
      std::memcpy(y + i, &out, sizeof out);
      before = Op::op(before, last(p, std::make_integer_sequence<int, w>()));
    }
    carry = before[0];
    for (; i < n; ++i) {
      carry = Op::op(carry, static_cast<A>(x[i]));
      y[i] = static_cast<T>(carry);
    }
  }
  static A total(const T* x, int64_t n) {
    Vector<A> a = spread(A(Op::kStart)), b = a, c = a, d = a;
    int64_t i = 0;
    for (; i + 4 * w <= n; i += 4 * w) {
      a = Op::op(a, widened(x + i));
      b = Op::op(b, widened(x + i + w));
      c = Op::op(c, widened(x + i + 2 * w));
      d = Op::op(d, widened(x + i + 3 * w));
    }
    a = Op::op(Op::op(a, b), Op::op(c, d));
    A sum = a[0];
    for (int j = 1; j < w; ++j) sum = Op::op(sum, A(a[j]));
    for (; i < n; ++i) sum = Op::op(sum, static_cast<A>(x[i]));
    return sum;
  }
  static void row(A* carry, T* y, const T* x, int64_t n) {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      carry[j] = Op::op(carry[j], static_cast<A>(x[j]));
      y[j] = static_cast<T>(carry[j]);
    }
  }
#if defined(GENESIS_HALF_VECTORS)
  // The same for a half type, in place.
  template <class S>
  static void row(A* carry, S* y, const S* x, int64_t n) {
    static_assert(kHalfLanes == 2 * w);
    typedef float Part __attribute__((vector_size(w * sizeof(float))));
    const auto add = [](A* sums, Part v) {
      const Vector<A> sum = Op::op(load(sums), __builtin_convertvector(v, Vector<A>));
      store(sums, sum);
      return __builtin_convertvector(sum, Part);
    };
    const auto step = [=]<int... i>(int64_t at, Floats v, std::integer_sequence<int, i...>) {
      const Part lower = add(carry + at, __builtin_shufflevector(v, v, i...));
      const Part upper = add(carry + at + w, __builtin_shufflevector(v, v, (w + i)...));
      return to_halves(__builtin_shufflevector(lower, upper, i..., (w + i)...), S{});
    };
    constexpr std::make_integer_sequence<int, w> lanes;
    int64_t j = 0;
    for (; j + kHalfLanes <= n; j += kHalfLanes) {
      const Halves out = step(j, load_floats(x + j), lanes);
      std::memcpy(y + j, &out, sizeof out);
    }
    if (j < n) store_part(static_cast<void*>(y + j), step(j, load_floats(x + j, n - j), lanes), n - j);
  }
#endif
};

// Reads and writes contiguous parts of a view as T, through a buffer if necessary.
template <class T>
struct Stretch {
  char* data;
  int64_t item;
  DType dtype;
  bool native;
  explicit Stretch(const View& v) : Stretch(static_cast<char*>(v.data), v.dtype) {}
  Stretch(char* data, DType dtype) : data(data), item(itemsize(dtype)), dtype(dtype), native(dtype == dtype_of<T>) {}
  template <class S>
  Stretch<S> as() const {
    return {data, dtype};
  }
  const T* read(T* buffer, int64_t offset, int64_t step, int64_t n) const {
    const T* x = reinterpret_cast<const T*>(data) + offset;
    if (native && step == 1) return x;
    if (native && step == -1) {
      for (int64_t i = 0; i < n; ++i) buffer[i] = x[-i];
    } else {
      gather(buffer, dtype_of<T>, data + offset * item, step * item, dtype, n);
    }
    return buffer;
  }
  T* place(T* buffer, int64_t offset, int64_t step) const {
    return native && step == 1 ? reinterpret_cast<T*>(data) + offset : buffer;
  }
  void write(const T* buffer, int64_t offset, int64_t step, int64_t n) const {
    T* y = reinterpret_cast<T*>(data) + offset;
    if (native && step == 1) return;
    if (native && step == -1) {
      for (int64_t i = 0; i < n; ++i) y[-i] = buffer[i];
    } else {
      scatter(data + offset * item, step * item, dtype, buffer, dtype_of<T>, n);
    }
  }
};

// Scans the lines of a view with the algorithm that suits their length and layout.
template <class Op, class T, class A>
class Scan {
  using R = Running<Op, T, A>;
  static constexpr int64_t kWidth = 128;

 public:
  Scan(const View& y, const View& x, int dim, bool reverse)
      : lines_({&y, &x}, dim, reverse, kWidth), to_(y), from_(x) {}

  void run() const {
    if (lines_.across > 1) return tiles();
    if (lines_.length <= kTile && lines_.follow(0) && lines_.follow(1)) return short_lines();
    if (lines_.count < 64 && lines_.length >= 2 * kLightGrain) return in_chunks(ceil_div(lines_.length, kLightGrain));
    parallel_for(lines_.count, lines_.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u)
        segment(A(Op::kStart), lines_.offset(0, u), lines_.offset(1, u), lines_.length);
    });
  }

 private:
  // Processes adjacent lines together.
  void tiles() const {
#if defined(GENESIS_HALF_VECTORS)
    if constexpr (std::is_same_v<T, float>) {
      const bool same = to_.dtype == from_.dtype;
      if (same && to_.dtype == DType::Float16) return tiles_of(to_.template as<Half>(), from_.template as<Half>());
      if (same && to_.dtype == DType::BFloat16)
        return tiles_of(to_.template as<BFloat16>(), from_.template as<BFloat16>());
    }
#endif
    tiles_of(to_, from_);
  }
  template <class S>
  void tiles_of(const Stretch<S>& to, const Stretch<S>& from) const {
    parallel_for(lines_.total(), lines_.grain(), [&](int64_t begin, int64_t end) {
      alignas(64) A carry[kWidth];
      alignas(64) S in[kWidth], out[kWidth];
      for (int64_t u = begin; u < end; ++u) {
        int64_t at_y = lines_.offset(0, u), at_x = lines_.offset(1, u);
        const int64_t n = lines_.columns(u);
        std::fill_n(carry, kWidth, A(Op::kStart));
        for (int64_t i = 0; i < lines_.length; ++i, at_y += lines_.step[0], at_x += lines_.step[1]) {
          R::row(carry, to.place(out, at_y, 1), from.read(in, at_x, 1, n), n);
          to.write(out, at_y, 1, n);
        }
      }
    });
  }

  // Reads and writes as many lines at once as fill a tile: converting short lines one by one takes longer than the
  // scan.
  void short_lines() const {
    const int64_t together = kTile / lines_.length;
    parallel_for(lines_.count, lines_.grain(), [&](int64_t begin, int64_t end) {
      alignas(64) T in[kTile], out[kTile];
      for (int64_t u = begin; u < end; u += together) {
        const int64_t at = u * lines_.length, n = std::min(together, end - u) * lines_.length;
        const T* read = from_.read(in, at, 1, n);
        T* written = to_.place(out, at, 1);
        for (int64_t i = 0; i < n; i += lines_.length) {
          A carry = A(Op::kStart);
          R::line(carry, written + i, read + i, lines_.length);
        }
        to_.write(out, at, 1, n);
      }
    });
  }

  // Scans n elements of a line, where `carry` is the result of the previous ones.
  void segment(A carry, int64_t at_y, int64_t at_x, int64_t n) const {
    alignas(64) T in[kTile], out[kTile];
    for (int64_t i = 0; i < n; i += kTile, at_y += kTile * lines_.step[0], at_x += kTile * lines_.step[1]) {
      const int64_t m = std::min(kTile, n - i);
      R::line(carry, to_.place(out, at_y, lines_.step[0]), from_.read(in, at_x, lines_.step[1], m), m);
      to_.write(out, at_y, lines_.step[0], m);
    }
  }

  // For few, long lines: computes the totals of chunks first, then scans each chunk starting from the preceding totals.
  void in_chunks(int64_t chunks) const {
    std::vector<A> totals(static_cast<size_t>(lines_.count * chunks));
    each_chunk(chunks, [&](int64_t u, int64_t first, int64_t n) {
      totals[static_cast<size_t>(u)] = total(lines_.offset(1, u / chunks) + first * lines_.step[1], n);
    });
    for (int64_t k = 0; k < lines_.count; ++k) {
      A before = A(Op::kStart);
      for (int64_t c = 0; c < chunks; ++c) {
        A& t = totals[static_cast<size_t>(k * chunks + c)];
        before = Op::op(before, std::exchange(t, before));
      }
    }
    each_chunk(chunks, [&](int64_t u, int64_t first, int64_t n) {
      segment(totals[static_cast<size_t>(u)], lines_.offset(0, u / chunks) + first * lines_.step[0],
              lines_.offset(1, u / chunks) + first * lines_.step[1], n);
    });
  }
  // Calls f(chunk, its first element, number of elements) for the chunks of all lines.
  template <class F>
  void each_chunk(int64_t chunks, const F& f) const {
    parallel_for(lines_.count * chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t first = u % chunks * kLightGrain;
        f(u, first, std::min(kLightGrain, lines_.length - first));
      }
    });
  }
  A total(int64_t at, int64_t n) const {
    alignas(64) T in[kTile];
    A sum = A(Op::kStart);
    for (int64_t i = 0; i < n; i += kTile) {
      const int64_t m = std::min(kTile, n - i);
      sum = Op::op(sum, R::total(from_.read(in, at + i * lines_.step[1], lines_.step[1], m), m));
    }
    return sum;
  }

  Lines lines_;
  Stretch<T> to_, from_;
};

template <class Op>
void running_in(View y, View x, int dim, bool reverse) {
  switch (compute_type(y.dtype)) {
    case DType::Float32: return Scan<Op, float, double>(y, x, dim, reverse).run();
    case DType::Float64: return Scan<Op, double, double>(y, x, dim, reverse).run();
    case DType::UInt8:
    case DType::Int32:
    case DType::Int64: return Scan<Op, int64_t, uint64_t>(y, x, dim, reverse).run();
    default: unsupported(y.dtype);
  }
}

// ---- plain scans ----------------------------------------------------------------------------------------------------

constexpr int64_t kPlainWidth = 64;

// Calls step(state of line j, offsets of the operands, j, i) for every element i of every line j of a tile, with the
// lines in lockstep.
template <int kOperands, class State, class Step>
void plain(const Lines& lines, const Step& step) {
  parallel_for(lines.total(), lines.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      int64_t at[kOperands];
      for (int k = 0; k < kOperands; ++k) at[k] = lines.offset(k, u);
      const int64_t n = lines.columns(u);
      if (n == 1) {
        State state;
        for (int64_t i = 0; i < lines.length; ++i) {
          step(state, at, int64_t{0}, i);
          for (int k = 0; k < kOperands; ++k) at[k] += lines.step[k];
        }
        continue;
      }
      State states[kPlainWidth];
      for (int64_t i = 0; i < lines.length; ++i) {
        for (int64_t j = 0; j < n; ++j) step(states[j], at, j, i);
        for (int k = 0; k < kOperands; ++k) at[k] += lines.step[k];
      }
    }
  });
}

template <bool kSmallest>
void extreme(View values, View indices, View x, int dim) {
  const auto run = [&]<class T>() {
    struct State {
      T value = 0;
      int64_t index = 0;
    };
    const Lines lines({&values, &indices, &x}, dim, false, kPlainWidth);
    T* value = values.as<T>();
    int64_t* index = indices.as<int64_t>();
    const T* in = x.as<T>();
    plain<3, State>(lines, [=](State& s, const int64_t* at, int64_t j, int64_t i) {
      const T v = in[at[2] + j];
      // Ties and NaN go to the last position, as in PyTorch.
      if (i == 0 || v != v || (s.value == s.value && (kSmallest ? v <= s.value : v >= s.value))) s = {v, i};
      value[at[0] + j] = s.value;
      index[at[1] + j] = s.index;
    });
  };
  if (is_floating(x.dtype)) with_floating_compute_type(x.dtype, run);
  else if (is_integral(x.dtype)) run.template operator()<int64_t>();
  else unsupported(x.dtype);
}

}  // namespace

void cumsum(View y, View x, int dim, bool reverse) { running_in<Add>(y, x, dim, reverse); }
void cumprod(View y, View x, int dim, bool reverse) { running_in<Multiply>(y, x, dim, reverse); }
void cummax(View values, View indices, View x, int dim) { extreme<false>(values, indices, x, dim); }
void cummin(View values, View indices, View x, int dim) { extreme<true>(values, indices, x, dim); }

void logcumsumexp(View y, View x, int dim) {
  with_floating_compute_type(y.dtype, [&]<class T>() {
    struct State {
      double max = -std::numeric_limits<double>::infinity(), sum = 0;  // log(sum) + max
    };
    const Lines lines({&y, &x}, dim, false, kPlainWidth);
    T* out = y.as<T>();
    const T* in = x.as<T>();
    plain<2, State>(lines, [=](State& s, const int64_t* at, int64_t j, int64_t) {
      const double v = in[at[1] + j];
      if (v > s.max) {
        // -inf contributes nothing; from inf to inf, nothing changes.
        s.sum = (s.sum == 0 ? 0 : s.sum * std::exp(s.max - v)) + 1;
        s.max = v;
      } else if (!(v == -std::numeric_limits<double>::infinity()) && !(std::isinf(s.max) && v == s.max)) {
        s.sum += std::exp(v - s.max);
      }
      out[at[0] + j] = static_cast<T>(s.sum == 0 ? s.max : std::log(s.sum) + s.max);
    });
  });
}

void linear_scan(View y, View a, View b, int dim, bool reverse) {
  with_floating_compute_type(y.dtype, [&]<class T>() {
    struct State {
      T value = 0;
    };
    const Lines lines({&y, &a, &b}, dim, reverse, kPlainWidth);
    T* out = y.as<T>();
    const T *factor = a.as<T>(), *addend = b.as<T>();
    plain<3, State>(lines, [=](State& s, const int64_t* at, int64_t j, int64_t i) {
      s.value = i == 0 ? addend[at[2] + j] : addend[at[2] + j] + factor[at[1] + j] * s.value;
      out[at[0] + j] = s.value;
    });
  });
}

GENESIS_KERNEL(cumsum)
GENESIS_KERNEL(cumprod)
GENESIS_KERNEL(cummax)
GENESIS_KERNEL(cummin)
GENESIS_KERNEL(logcumsumexp)
GENESIS_KERNEL(linear_scan)

}  // namespace genesis::kernels::GENESIS_ISA
