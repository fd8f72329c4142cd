// The gradient of the weight for channels-last images: sums over all outputs of x, shifted by each tap, times dy.
//
// Rows are the channels of x for one tap, columns are those of dy, and k runs over outputs. Either these are the
// outputs of a few lines, if they have a constant stride for each tap; then the lines of x are copied once for each tap
// along them. Or, if images are small compared to the batch, they are the same output in all images.
#pragma once

#include "kernels/conv/last_sums.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kWeightChunks = 16;        // chunks of blocks with separate sums
constexpr int64_t kSums = int64_t{1} << 20;  // maximum number of partial sums
constexpr int64_t kPieceBytes = 32 << 10;    // size of packed dy, and of the cache lines of the rows of a tile

template <class T>
const Scratch<T> partial_sums;
template <class T>
const Scratch<T> packed_dy;

template <class T>
class WeightSums {
 public:
  WeightSums(const ConvShape& s, const T* x, const T* dy)
      : s_(s),
        x_(x),
        dy_(dy),
        rows_(s.taps() * s.in_channels),
        width_(Tiling(s.in_channels, ceil_div(s.out_channels, kLanes<T>)).vectors * kLanes<T>),
        panels_(ceil_div(s.out_channels, width_)),
        columns_(panels_ * width_),
        sums_(s.groups * rows_ * columns_) {}

  void run(T* dw) {
    if (s_.out[1] * s_.out[2] < s_.batch) sum_images();
    else sum_lines();
    finish(dw);
  }

 private:
  int64_t columns(int64_t panel) const { return std::min(width_, s_.out_channels - panel * width_); }
  int64_t depth() const { return kPieceBytes / (width_ * int64_t{sizeof(T)} + 64); }

  // c (+)= the product of k steps of some channels of x, `step` apart, and a packed panel.
  void add_rows(const T* a, int64_t step, int64_t channels, int64_t k, const T* b, int64_t panel, T* c,
                bool add) const {
    const int64_t vectors = ceil_div(columns(panel), kLanes<T>), last = columns(panel) - (vectors - 1) * kLanes<T>;
    const int64_t tiles = ceil_div(channels, kMaxRows[vectors - 1]);
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t i = t * channels / tiles, rows = (t + 1) * channels / tiles - i;
      const Tile<T> tile{.k = k,
                         .a = a + i,
                         .a_row = 1,
                         .a_k = step,
                         .b = b,
                         .b_k = width_,
                         .c = c + i * columns_,
                         .c_row = columns_,
                         .alpha = T(1),
                         .beta = T(add ? 1 : 0),
                         .last = last};
      find_tile<T, Order::column_major>(rows, vectors, last < kLanes<T>)(tile);
    }
  }

  // ----- k runs over lines -----

  // Lines of x ordered by their residue modulo the stride, so that consecutive lines of outputs read consecutive lines.
  struct Lines {
    int64_t begin, count, extent, per_residue, size, stride, dilation;
    Lines(const ConvShape& s, int d, int64_t begin, int64_t count)
        : begin(begin * s.stride[d] - s.padding[d]),
          count(count),
          extent((count - 1) * s.stride[d] + (s.kernel[d] - 1) * s.dilation[d] + 1),
          per_residue(ceil_div(extent, s.stride[d])),
          size(per_residue * s.stride[d]),
          stride(s.stride[d]),
          dilation(s.dilation[d]) {}
    int64_t at(int64_t e) const { return e % stride * per_residue + e / stride; }
  };

  // Copies the lines of a strip for some channels of a group: (tap along a line, lines, outputs of a line, channels).
  void fill(const Lines& u, const Lines& v, const T* x, int64_t channels, int64_t pitch, T* grid) const {
    const int64_t pixel = s_.groups * s_.in_channels, n = s_.out[2], plane = u.size * v.size * n * pitch;
    auto seen = [](const Lines& l, int64_t taps, int64_t e) {
      for (int64_t t = 0; t < taps; ++t)
        if (e >= t * l.dilation && (e - t * l.dilation) % l.stride == 0) return true;
      return false;
    };
    for (int64_t a = 0; a < u.extent; ++a)
      for (int64_t b = 0; b < v.extent; ++b) {
        if (!seen(u, s_.kernel[0], a) || !seen(v, s_.kernel[1], b)) continue;
        const int64_t i = u.begin + a, j = v.begin + b;
        T* dst = grid + (u.at(a) * v.size + v.at(b)) * n * pitch;
        for (int64_t t = 0; t < s_.kernel[2]; ++t, dst += plane) {
          const Stretch line(n, s_.in[2], t * s_.dilation[2] - s_.padding[2], s_.stride[2]);
          if (i < 0 || i >= s_.in[0] || j < 0 || j >= s_.in[1] || line.first == line.last) {
            std::fill_n(dst, n * pitch, T(0));
            continue;
          }
          const T* from = x + ((i * s_.in[1] + j) * s_.in[2] + line.start) * pixel;
          std::fill_n(dst, line.first * pitch, T(0));
          copy_pixels(dst + line.first * pitch, pitch, from + line.first * line.step * pixel, line.step * pixel,
                      line.last - line.first, channels);
          std::fill_n(dst + line.last * pitch, (n - line.last) * pitch, T(0));
        }
      }
  }

  void sum_lines() {
    const int axis = s_.out[0] > 1 ? 0 : 1;
    const int64_t out = s_.out[axis], n = s_.out[2];
    const int64_t bytes = s_.kernel[2] * s_.in[0] * s_.in[1] * n * s_.in_channels * int64_t{sizeof(T)};
    int64_t lines = std::clamp<int64_t>(out * kGridBytes / std::max<int64_t>(1, bytes), std::min<int64_t>(4, out), out);
    lines = ceil_div(out, ceil_div(out, lines));
    const int64_t strips = ceil_div(out, lines);

    const int64_t blocks = s_.batch * strips, useful = ceil_div(4 * kWeightChunks, s_.groups);
    chunks_ = std::clamp<int64_t>(std::min({blocks, useful, kSums / sums_}), 1, kWeightChunks);
    partial_ = partial_sums<T>.get(chunks_ * sums_);
    const int64_t wanted = ceil_div(2 * get_num_threads(), chunks_ * s_.groups);
    const int64_t parts = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, s_.in_channels / 16));
    const int64_t tasks = chunks_ * s_.groups * parts;
    parallel_for(tasks, grain_for(s_.batch * s_.out_size() * sums_ / tasks), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t chunk = task % chunks_, g = task / chunks_ % s_.groups, part = task / chunks_ / s_.groups;
        const int64_t first = part * s_.in_channels / parts, last = (part + 1) * s_.in_channels / parts;
        T* const sums = partial_ + chunk * sums_ + (g * rows_ + first) * columns_;
        bool add = false;
        for (int64_t i = chunk * blocks / chunks_; i < (chunk + 1) * blocks / chunks_; ++i, add = true) {
          const int64_t strip = i % strips * lines, count = std::min(lines, out - strip);
          sum_strip(i / strips, axis == 0 ? strip : 0, axis == 0 ? count : s_.out[0], axis == 1 ? strip : 0,
                    axis == 1 ? count : s_.out[1], g, first, last, sums, add);
        }
      }
    });
  }

  void sum_strip(int64_t image, int64_t begin0, int64_t count0, int64_t begin1, int64_t count1, int64_t g,
                 int64_t first, int64_t last, T* sums, bool add) const {
    constexpr int64_t line = 64 / sizeof(T);
    const Lines u(s_, 0, begin0, count0), v(s_, 1, begin1, count1);
    const int64_t channels = last - first, n = s_.out[2], total = count1 * n, pixel_y = s_.groups * s_.out_channels;
    // Outputs whose distance is a power of two would compete for the same few sets of the L1 cache.
    const int64_t pitch = ceil_div(channels, line) % 4 == 0 ? ceil_div(channels, line) * line + line : channels;
    T* grid = copied_lines<T>.get(s_.kernel[2] * u.size * v.size * n * pitch);
    fill(u, v, x_ + (image * s_.in_size() * s_.groups + g) * s_.in_channels + first, channels, pitch, grid);

    const int64_t pieces = ceil_div(total, depth());
    T* b = packed_dy<T>.get(ceil_div(total, pieces) * width_);
    for (int64_t o = 0; o < count0; ++o)
      for (int64_t piece = 0; piece < pieces; ++piece, add = true) {
        const int64_t p = piece * total / pieces, k = (piece + 1) * total / pieces - p;
        const int64_t pixel = ((image * s_.out[0] + begin0 + o) * s_.out[1] + begin1) * n + p;
        const T* const dy = dy_ + pixel * pixel_y + g * s_.out_channels;
        for (int64_t panel = 0; panel < panels_; ++panel) {
          copy_pixels(b, width_, dy + panel * width_, pixel_y, k, columns(panel));
          for (int64_t tap = 0; tap < s_.taps(); ++tap) {
            const int64_t t2 = tap % s_.kernel[2], t1 = tap / s_.kernel[2] % s_.kernel[1];
            const int64_t t0 = tap / s_.kernel[2] / s_.kernel[1];
            const int64_t at = (t2 * u.size + u.at(t0 * u.dilation) + o) * v.size + v.at(t1 * v.dilation);
            add_rows(grid + (at * n + p) * pitch, pitch, channels, k, b, panel,
                     sums + tap * s_.in_channels * columns_ + panel * width_, add);
          }
        }
      }
  }

  // ----- k runs over images -----

  void sum_images() {
    const int64_t outputs = s_.out_size(), taps = s_.taps();
    const int64_t pixel_x = s_.groups * s_.in_channels, pixel_y = s_.groups * s_.out_channels;
    partial_ = partial_sums<T>.get(sums_);
    T* const packed = packed_dy<T>.get(s_.groups * panels_ * outputs * s_.batch * width_);
    auto panel_of = [&](int64_t g, int64_t panel, int64_t o) {
      return packed + ((g * panels_ + panel) * outputs + o) * s_.batch * width_;
    };
    parallel_for(s_.groups * panels_ * outputs, grain_for(s_.batch * width_, 1 << 14), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t o = i % outputs, panel = i / outputs % panels_, g = i / outputs / panels_;
        copy_pixels(panel_of(g, panel, o), width_, dy_ + o * pixel_y + g * s_.out_channels + panel * width_,
                    outputs * pixel_y, s_.batch, columns(panel));
      }
    });
    const int64_t pieces = ceil_div(s_.batch, depth());
    const int64_t work = s_.batch * outputs * s_.in_channels * width_;
    parallel_for(s_.groups * panels_ * taps, grain_for(work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t tap = i % taps, panel = i / taps % panels_, g = i / taps / panels_;
        T* c = partial_ + (g * rows_ + tap * s_.in_channels) * columns_ + panel * width_;
        bool add = false;
        for (int64_t o = 0; o < outputs; ++o) {
          const int64_t from = s_.input_of(o, tap);
          if (from < 0) continue;
          for (int64_t piece = 0; piece < pieces; ++piece, add = true) {
            const int64_t p = piece * s_.batch / pieces, k = (piece + 1) * s_.batch / pieces - p;
            add_rows(x_ + (p * s_.in_size() + from) * pixel_x + g * s_.in_channels, s_.in_size() * pixel_x,
                     s_.in_channels, k, panel_of(g, panel, o) + p * width_, panel, c, add);
          }
        }
        for (int64_t row = 0; row < (add ? 0 : s_.in_channels); ++row)
          std::fill_n(c + row * columns_, columns(panel), T(0));
      }
    });
  }

  // Sums the chunks and transposes them to (channel out, tap, channel in).
  void finish(T* dw) const {
    const int64_t grain = std::max<int64_t>(kLanes<T>, kTaskWork / 16 / (chunks_ * columns_));
    parallel_for(s_.groups * rows_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* total = partial_ + row * columns_;
        for (int64_t chunk = 1; chunk < chunks_; ++chunk) {
          const T* more = total + chunk * sums_;
#pragma GCC ivdep
          for (int64_t i = 0; i < s_.out_channels; ++i) total[i] += more[i];
        }
      }
      for (int64_t row = begin; row < end;) {
        const int64_t g = row / rows_, stop = std::min(end, (g + 1) * rows_);
        scatter(partial_ + row * columns_, columns_, stop - row, s_.out_channels, T(0), {},
                dw + g * s_.out_channels * rows_ + row - g * rows_, 1, rows_);
        row = stop;
      }
    });
  }

  const ConvShape& s_;
  const T* x_;
  const T* dy_;
  int64_t rows_, width_, panels_, columns_, sums_, chunks_ = 1;
  T* partial_ = nullptr;
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
