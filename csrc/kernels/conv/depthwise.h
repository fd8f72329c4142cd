// Depthwise convolutions of planes: sums over the taps of one plane, which is read in place.
//
// A tile is one vector of outputs in each of a few consecutive lines. For one column of the kernel, these lines read
// mostly the same inputs: a vector of inputs is loaded once for all lines of the tile that have a tap on it. Lines
// outside the plane are skipped and positions outside a line are masked, so that no padded copy is needed.
//
// Kernel heights are compile-time constants, so that taps are kept in registers. Only 3, 5 and 7 are instantiated to
// limit the compile time.
//
// The terms of an output are summed by columns of the kernel, from top to bottom in each, wherever it is in a tile.
#pragma once

#include <array>

#include "kernels/conv/correlation.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// A few lines of a plane of outputs. `filled` of them exist, and the first `whole` can be stored as full vectors: the
// part of the next line that they overwrite is written afterwards.
template <class T>
struct LineTile {
  const T* w;  // (column, tap)
  T bias;
  const T* x;  // the first input line, which may be outside the plane
  int64_t x_line;
  uint32_t inside;  // bit i: input line i is inside the plane
  T* out;
  int64_t out_line, filled, whole;
};

template <class T, int taps, int lines>
void line_tile(const LineTile<T>& t, const std::vector<int64_t>& starts, const std::vector<Piece<T>>& pieces) {
  const int64_t x_line = t.x_line;
  const uint32_t inside = t.inside;
  const Piece<T>* piece = pieces.data();
  const size_t columns = pieces.size() / starts.size();
  for (int64_t start : starts) {
    Vec<T> sum[lines];
    written_out<lines>([&](auto i) __attribute__((always_inline)) { sum[i] = broadcast(t.bias); });
    const T* w = t.w;
    for (const Piece<T>* end = piece + columns; piece < end; ++piece, w += taps) {
      Vec<T> factor[taps];
      written_out<taps>([&](auto i) __attribute__((always_inline)) { factor[i] = broadcast(w[i]); });
      piece->read([&](auto fetch) __attribute__((always_inline)) {
        const T* x = t.x;
        written_out<lines + taps - 1>([&](auto i) __attribute__((always_inline)) {
          if (inside >> i & 1) {
            const Vec<T> row = fetch(x);
            written_out<lines>([&](auto j) __attribute__((always_inline)) {
              if constexpr (i >= j && i < j + taps) sum[j] = fma(factor[i - j], row, sum[j]);
            });
          }
          x += x_line;
        });
      });
    }
    T* out = t.out + start;
    written_out<lines>([&](auto i) __attribute__((always_inline)) {
      if (i < t.whole) store(out, sum[i]);
      else if (i < t.filled) store(out, sum[i], Mask<T>(t.out_line));
      out += t.out_line;
    });
  }
}

template <class T>
class Depthwise {
 public:
  static bool suits(const Correlation<T>& x) {
    const auto& [a, b, c] = x.axes;
    const int64_t taps = static_cast<int64_t>(b.taps.size());
    bool plane = x.channels == 1 && x.rows == 1 && x.dense() && a.in == 1 && a.out == 1 && a.taps.size() == 1;
    plane = plane && a.low == 0 && b.step == 1 && c.step == 1 && b.span() == taps;
    if (!plane || !written_taps(taps)) return false;
    // Narrow planes fill few lanes, and planes with few lines fill few rows of a tile.
    const int64_t rest = b.out % kTall, lines = b.out - rest + (rest == 0 ? 0 : rest <= kLow ? kLow : kTall);
    const int64_t lanes = ceil_div(c.out, kLanes<T>) * kLanes<T> * lines;
    return 4 * lanes <= 7 * ((b.out - 1) * c.extent() + c.out);
  }

  explicit Depthwise(const Correlation<T>& x) : x_(x) {
    const Axis& axis = x.axes[2];
    for (int64_t o = 0; o < axis.out; o += kLanes<T>) {
      starts_.push_back(std::max<int64_t>(0, std::min(o, axis.out - kLanes<T>)));
      for (const Tap& tap : axis.taps) pieces_.emplace_back(axis.low + starts_.back() + tap.offset, axis.in);
    }
  }

  void run() const {
    const int64_t work = x_.outputs() * x_.taps();
    parallel_for(x_.batch * x_.groups, std::max<int64_t>(1, kTaskWork / work), [&](int64_t begin, int64_t end) {
      T* weights = packed_weights<T>.get(x_.taps());
      for (int64_t i = begin; i < end; ++i) plane(i, weights);
    });
  }

 private:
  static constexpr int kTall = 7, kLow = 4;

  void plane(int64_t index, T* weights) const {
    static constexpr auto tall = tiles<kTall>(), low = tiles<kLow>();
    const Axis &down = x_.axes[1], &along = x_.axes[2];
    const int64_t g = index % x_.groups, taps = static_cast<int64_t>(down.taps.size()), outputs = x_.outputs();
    T* w = weights;
    for (const Tap& c : along.taps) {
      for (const Tap& r : down.taps) w[r.offset] = x_.w[g * x_.w_group + r.index * x_.kernel[2] + c.index];
      w += taps;
    }
    const T* x = x_.x + index * down.in * along.in;
    T* y = x_.y + index * outputs;
    for (int64_t o = 0; o < down.out;) {
      const int64_t left = down.out - o, first = down.low + o;
      const int64_t filled = std::min<int64_t>(left, left <= kLow ? kLow : kTall);
      const int64_t whole = outputs < kLanes<T> ? 0 : std::min(filled, (outputs - kLanes<T>) / along.out + 1 - o);
      uint32_t inside = 0;
      for (int64_t l = 0; l < filled + taps - 1; ++l) inside |= uint32_t{first + l >= 0 && first + l < down.in} << l;
      (left <= kLow ? low : tall)[static_cast<size_t>(taps / 2 - 1)](
          {weights, x_.bias ? x_.bias[g] : T(0), x + first * along.in, along.in, inside, y + o * along.out, along.out,
           filled, whole},
          starts_, pieces_);
      o += filled;
    }
  }

  template <int lines>
  static constexpr auto tiles() {
    return []<int... i>(std::integer_sequence<int, i...>) {
      return std::array{&line_tile<T, 3 + 2 * i, lines>...};
    }(std::make_integer_sequence<int, 3>{});
  }

  const Correlation<T>& x_;
  std::vector<int64_t> starts_;   // of the vectors of a line of outputs; the last may overlap the previous one
  std::vector<Piece<T>> pieces_;  // the part of a line of x that each vector reads, for each column of the kernel
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
