// Correlations with 3 x 3 taps by Winograd's minimal filtering: 16 multiplications where the sum over taps has 36.
//
// A tile is 2 x 2 adjacent outputs y, which depend on 4 x 4 inputs d. With the weights w of a pair of channels,
//
//     y = A' m A,   m = (G w G') * (B' d B) element by element,
//
//     B' = 1  0 -1  0     G = 1    0    0      A' = 1  1  1  0
//          0  1  1  0         1/2  1/2  1/2         0  1 -1 -1
//          0 -1  1  0         1/2 -1/2  1/2
//          0  1  0 -1         0    0    1
//
// and m may be summed over the channels first. Each of the 16 elements of m is therefore a separate matrix product,
// (row, channel) by (channel, tile), between transforms that cost a few additions. A run of tiles, of any images, goes
// through all three steps in the cache.
//
// The part of m that contributes to an output depends only on the inputs of that output, so its rounding error does
// too. But a result that is infinite in the sum over taps would be NaN here, as a difference of infinities. The outputs
// are therefore checked, and if any is not finite, all are recomputed as sums over taps.
#pragma once

#include <atomic>

#include "kernels/conv/correlation.h"
#include "kernels/conv/panels.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

inline const Scratch<float> winograd_weights;
inline const Scratch<float> winograd_products;

class Winograd {
  using V = Vec<float>;

 public:
  static bool suits(const Correlation<float>& x) {
    const auto& [depth, high, wide] = x.axes;
    auto three = [](const Axis& axis) { return axis.step == 1 && axis.taps.size() == 3 && axis.span() == 3; };
    if (depth.in != 1 || depth.out != 1 || depth.taps.size() != 1 || depth.low != 0) return false;
    if (!three(high) || !three(wide) || !x.dense()) return false;
    if (std::min(x.channels, x.rows) < kFewest) return false;
    const int64_t lines = x.batch * ceil_div(high.out, 2), line = ceil_div(wide.out, 2), pairs = x.channels * x.rows;
    const int64_t saved = (9 * x.batch * x.outputs() - kParts * lines * line) * pairs;
    const int64_t transforms = pairs + lines * ceil_div(line, lanes) * (x.channels + x.rows);
    return saved > transforms * kTransform;
  }

  explicit Winograd(const Correlation<float>& x)
      : x_(x),
        high_(ceil_div(x.axes[1].out, 2)),
        wide_(ceil_div(x.axes[2].out, 2)),
        row_tiles_(ceil_div(x.rows, kMaxRows[kPanelVectors - 1])),
        height_(ceil_div(x.rows, row_tiles_)),
        part_(row_tiles_ * height_ * x.channels + lanes) {}

  // Returns whether all outputs are finite; if not, they must not be used.
  bool run() {
    transform_weights();
    const int64_t total = x_.batch * high_ * wide_;
    const int64_t most = kParts * part_ * int64_t{sizeof(float)} > kHeavyWeights ? 2 * width : width;
    const int64_t threads = get_num_threads(), runs = ceil_div(ceil_div(total, most), threads) * threads;
    const int64_t fair = ceil_div(ceil_div(total, runs), lanes) * lanes;
    std::atomic<bool> finite{true};
    parallel_for(x_.groups * runs, ceil_div(kTaskWork, kParts * part_ * fair), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end && finite.load(std::memory_order_relaxed); ++task) {
        const int64_t first = task % runs * fair;
        if (first >= total) continue;
        if (!make_run(task / runs, first, std::min(total, first + fair))) finite = false;
      }
    });
    return finite;
  }

 private:
  static constexpr int64_t kParts = 16;
  static constexpr int64_t kFewest = 16;  // minimum number of channels that fills the products
  // bytes; larger weights do not stay in L2 and are read for more tiles at a time
  static constexpr int64_t kHeavyWeights = 1 << 20;
  static constexpr int64_t kDepth = 200;  // channels of a panel that stays in L1
  static constexpr int64_t lanes = kLanes<float>, width = kPanelVectors * lanes;
  static constexpr int64_t kTransform = 64 * lanes;  // cost of a transform: multiply-adds in the time of one vector

  // Consecutive tiles of a line, at most `width`.
  struct Piece {
    int64_t image, line, first, count;
    int64_t at;  // in the run
  };
  std::vector<Piece> pieces(int64_t begin, int64_t end) const {
    std::vector<Piece> list;
    for (int64_t tile = begin; tile < end; tile += list.back().count) {
      const int64_t first = tile % wide_, line = tile / wide_;
      list.push_back({line / high_, line % high_, first, std::min({wide_ - first, end - tile, width}), tile - begin});
    }
    return list;
  }

  // Computes G w G' for `height` rows at a time: element e of tile i and channel c is at ((e * tiles + i) * channels +
  // c) * height.
  void transform_weights() {
    const int64_t channels = x_.channels, tiles = x_.groups * row_tiles_;
    float* const packed = packed_weights<float>.get(x_.groups * part_ * 9 + lanes);
    pack_weights(x_, height_, false, packed);
    int64_t place[9];  // of the tap of each offset
    for (int64_t i = 0; i < 9; ++i) place[x_.axes[1].taps[i / 3].offset * 3 + x_.axes[2].taps[i % 3].offset] = i;
    float* const made = winograd_weights.get(x_.groups * kParts * part_);
    weights_ = made;
    parallel_for(tiles, ceil_div(kTaskWork / 16, channels * height_ * 9), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const float* const from = packed + t * channels * 9 * height_;
        float* const to = made + t / row_tiles_ * kParts * part_ + t % row_tiles_ * channels * height_;
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t i = 0; i < height_; i += lanes) {
            const float* src = from + c * 9 * height_ + i;
            float* dst = to + c * height_ + i;
            const Mask<float> mask(std::min(lanes, height_ - i));
            V half[4][3], whole[4];
            for (int j = 0; j < 3; ++j) {
              auto row = [&](int k) { return load(src + place[k * 3 + j] * height_); };
              spread_weights(row(0), row(1), row(2), whole);
              for (int k = 0; k < 4; ++k) half[k][j] = whole[k];
            }
            for (int k = 0; k < 4; ++k) {
              spread_weights(half[k][0], half[k][1], half[k][2], whole);
              for (int j = 0; j < 4; ++j, dst += part_) store(dst, whole[j], mask);
            }
          }
      }
    });
  }
  static void spread_weights(V a, V b, V c, V (&out)[4]) {
    const V half = broadcast(0.5f), outer = half * (a + c), inner = half * b;
    out[0] = a, out[1] = outer + inner, out[2] = outer - inner, out[3] = c;
  }

  // Computes tiles [begin, end) of group g. Returns whether their outputs are finite.
  bool make_run(int64_t g, int64_t begin, int64_t end) const {
    const int64_t in_plane = x_.axes[1].in * x_.axes[2].in, y_plane = x_.outputs();
    const int64_t pitch = ceil_div(end - begin, lanes) * lanes;
    // The vectors of a tile are stored and loaded together, so they must not be a multiple of 4 KiB apart.
    const int64_t v_part = x_.channels * pitch + lanes, m_part = x_.rows * pitch + lanes;
    float* const v = winograd_products.get(kParts * (v_part + m_part));
    float* const m = v + kParts * v_part;
    const std::vector<Piece> list = pieces(begin, end);
    for (int64_t c = 0; c < x_.channels; ++c)
      for (const Piece& piece : list)
        transform_inputs(piece, x_.x + ((piece.image * x_.groups + g) * x_.channels + c) * in_plane,
                         v + c * pitch + piece.at, v_part);
    for (int64_t e = 0; e < kParts; ++e)
      multiply(weights_ + (g * kParts + e) * part_, v + e * v_part, pitch, m + e * m_part);
    V spoilt{};
    for (int64_t row = 0; row < x_.rows; ++row)
      for (const Piece& piece : list)
        transform_outputs(piece, m + row * pitch + piece.at, m_part, x_.bias ? x_.bias[g * x_.rows + row] : 0.0f,
                          x_.y + ((piece.image * x_.groups + g) * x_.rows + row) * y_plane, spoilt);
    bool finite = true;
    for (int64_t i = 0; i < lanes; ++i) finite = finite && spoilt[i] == 0;
    return finite;
  }

  // Computes B' d B of a piece in one channel. Vectors may extend past the piece into memory that is written later.
  void transform_inputs(const Piece& piece, const float* plane, float* v, int64_t part) const {
    static constexpr float zeros[2 * width + lanes] = {};
    const auto& [depth, high, wide] = x_.axes;
    const int64_t left = wide.low + 2 * piece.first;
    const float* d[4];
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t line = high.low + 2 * piece.line + i;
      d[i] = line < 0 || line >= high.in ? zeros : plane + line * wide.in + left;
    }
    auto columns = [&](int64_t at, V(&out)[4]) {  // B' d
      const int64_t first = std::clamp<int64_t>(-left - at, 0, lanes);
      const Mask<float> mask(first, std::clamp<int64_t>(wide.in - left - at, first, lanes));
      spread_inputs(load(d[0] + at, mask), load(d[1] + at, mask), load(d[2] + at, mask), load(d[3] + at, mask), out);
    };
    V now[4], then[4], later[4], out[4];
    columns(0, now);
    for (int64_t b = 0; b < piece.count; b += lanes, v += lanes) {
      columns(2 * b + lanes, then);
      columns(2 * b + 2 * lanes, later);
      for (int i = 0; i < 4; ++i) {
        const V even = every_other<0>(now[i], then[i]), odd = every_other<1>(now[i], then[i]);
        spread_inputs(even, odd, next<0>(even, later[i]), next<1>(odd, later[i]), out);
        for (int j = 0; j < 4; ++j) store(v + (4 * i + j) * part, out[j]);
        now[i] = later[i];
      }
    }
  }
  static void spread_inputs(V a, V b, V c, V d, V (&out)[4]) {
    out[0] = a - c, out[1] = b + c, out[2] = c - b, out[3] = b - d;
  }

  // Computes m = w v for `pitch` columns.
  void multiply(const float* w, const float* v, int64_t pitch, float* m) const {
    const int64_t depth = ceil_div(x_.channels, ceil_div(x_.channels, kDepth));
    for (int64_t c = 0; c < x_.channels; c += depth)
      for (int64_t j = 0; j < pitch; j += width) {
        const int64_t vectors = std::min<int64_t>(kPanelVectors, (pitch - j) / lanes);
        for (int64_t i = 0; i < row_tiles_; ++i) {
          const int64_t rows = std::min(height_, x_.rows - i * height_);
          const Tile<float> t{.k = std::min(depth, x_.channels - c),
                              .a = w + (i * x_.channels + c) * height_,
                              .a_row = 1,
                              .a_k = height_,
                              .b = v + c * pitch + j,
                              .b_k = pitch,
                              .c = m + i * height_ * pitch + j,
                              .c_row = pitch,
                              .alpha = 1,
                              .beta = c > 0 ? 1.0f : 0.0f,
                              .last = lanes};
          find_tile<float, Order::column_major>(rows, vectors, false)(t);
        }
      }
    std::fill_n(m + x_.rows * pitch, lanes, 0.0f);
  }

  // Computes A' m A of a piece in one row.
  void transform_outputs(const Piece& piece, const float* m, int64_t part, float bias, float* y, V& spoilt) const {
    const int64_t lines = std::min<int64_t>(2, x_.axes[1].out - 2 * piece.line), n = x_.axes[2].out;
    y += 2 * (piece.line * n + piece.first);
    const V add = broadcast(bias);
    for (int64_t b = 0; b < piece.count; b += lanes) {
      V half[2][4];
      for (int j = 0; j < 4; ++j) {
        auto element = [&](int i) { return load(m + (4 * i + j) * part + b); };
        const V inner = element(1), outer = element(2);
        half[0][j] = element(0) + inner + outer;
        half[1][j] = inner - outer - element(3);
      }
      const int64_t columns = std::min(2 * (piece.count - b), n - 2 * (piece.first + b));
      for (int64_t i = 0; i < lines; ++i) {
        const auto& h = half[i];
        const V even = add + h[0] + h[1] + h[2], odd = add + h[1] - h[2] - h[3];
        spoilt += (even + odd) * 0.0f;
        put_pairs(y + i * n + 2 * b, even, odd, columns);
      }
    }
  }

  // Lanes first, first + 2, ... of x and y.
  template <int first>
  static V every_other(V x, V y) {
    return [&]<int... i>(std::integer_sequence<int, i...>) {
      return __builtin_shufflevector(x, y, (first + 2 * i)...);
    }(std::make_integer_sequence<int, lanes>{});
  }
  // All lanes of x but the first, then lane `lane` of y.
  template <int lane>
  static V next(V x, V y) {
    return [&]<int... i>(std::integer_sequence<int, i...>) {
      return __builtin_shufflevector(x, y, (i + 1)..., static_cast<int>(lanes) + lane);
    }(std::make_integer_sequence<int, lanes - 1>{});
  }
  // Stores `count` lanes of `even` and `odd`, interleaved.
  static void put_pairs(float* out, V even, V odd, int64_t count) {
    const V low = interleave<0>(even, odd), high = interleave<lanes / 2>(even, odd);
    if (count >= lanes) store(out, low);
    else store(out, low, Mask<float>(count));
    if (count >= 2 * lanes) store(out + lanes, high);
    else if (count > lanes) store(out + lanes, high, Mask<float>(count - lanes));
  }
  template <int first>
  static V interleave(V even, V odd) {
    return [&]<int... i>(std::integer_sequence<int, i...>) {
      return __builtin_shufflevector(even, odd, (first + i / 2 + i % 2 * static_cast<int>(lanes))...);
    }(std::make_integer_sequence<int, lanes>{});
  }

  const Correlation<float>& x_;
  int64_t high_, wide_;         // tiles of an image
  int64_t row_tiles_, height_;  // of the matrix products
  int64_t part_;                // weights of one element, of a group
  const float* weights_ = nullptr;
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
