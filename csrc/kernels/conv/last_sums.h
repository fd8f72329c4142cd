// Sums over channels and taps of channels-last images, with the tiles of the matrix product.
//
// The channels of an input are contiguous, so for one tap, the inputs of a line of outputs form a row-major left-hand
// side in place, of which a tile takes a few rows. The right-hand side is the packed weights of that tap. Consecutive
// taps of a line form one longer range of k. Nothing is gathered; only if there is padding, or if the channels of a
// group are not adjacent, the lines are first copied to a grid. If lines are short compared to the batch, the rows of a
// tile are instead the same output of many images, and taps in the padding are skipped.
//
// The terms of an output are always summed in the same order, run by run, for any block, tile or thread.
#pragma once

#include "core/parallel.h"
#include "kernels/conv/planes.h"
#include "kernels/scratch.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kGridBytes = 384 << 10;   // size of the lines that stay in L2
constexpr int64_t kBlockBytes = 512 << 10;  // size of the lines and of the columns computed from them
constexpr int64_t kStepBytes = 24 << 10;    // size of the packed columns that stay in L1
constexpr int64_t kManyOutputs = 384;       // outputs that amortize reading all weights

inline int64_t grain_for(int64_t work, int64_t task = kTaskWork) { return ceil_div(task, std::max<int64_t>(1, work)); }

template <class T>
const Scratch<T> packed_columns;
template <class T>
const Scratch<T> copied_lines;

// y[n, first + o * every, g r] = bias[g r] + sum over taps and channels c of w * x[n, low + o * step + offset, g c].
template <class T>
struct Sums {
  int64_t batch, groups, channels, rows;  // input and output channels of one group
  Axis axes[3];
  const T* x;
  const T* w;  // (g, r, tap, c) at g * w_group + r * w_row + tap * w_tap + c * w_channel
  int64_t w_group, w_row, w_tap, w_channel;
  int64_t kernel[3];
  const T* bias;
  T* y;
  int64_t y_size[3], first[3], every[3];

  int64_t outputs() const { return axes[0].out * axes[1].out * axes[2].out; }
  int64_t taps() const { return static_cast<int64_t>(axes[0].taps.size() * axes[1].taps.size() * axes[2].taps.size()); }
  int64_t y_at(int64_t o0, int64_t o1) const {
    return (((first[0] + o0 * every[0]) * y_size[1] + first[1] + o1 * every[1]) * y_size[2] + first[2]) * groups * rows;
  }
  int64_t y_image() const { return y_size[0] * y_size[1] * y_size[2] * groups * rows; }
};

// How the columns are split into panels for lines of `count` rows: the vectors per panel, and an estimate of the time
// that all tiles of a line need per step of k.
struct Tiling {
  int64_t vectors = 1, time = std::numeric_limits<int64_t>::max();
  Tiling(int64_t count, int64_t all_vectors) {
    for (int64_t v = 1; v <= std::min<int64_t>(kMaxVectors, all_vectors); ++v) {
      const int64_t before = (all_vectors - 1) / v;
      const int64_t now = before * line(count, v) + line(count, all_vectors - before * v);
      if (now <= time) vectors = v, time = now;
    }
  }

 private:
  static int64_t line(int64_t count, int64_t vectors) {
    const int64_t tiles = ceil_div(count, kMaxRows[vectors - 1]), rows = ceil_div(count, tiles);
    // A multiply-add costs 10 units and a load 17; the latency of a multiply-add is that of eight of them.
    return tiles * std::max<int64_t>({10 * rows * vectors, 17 * (rows + vectors), 80});
  }
};

// Rows with a constant stride, and where their results go.
struct Line {
  int64_t a, c, count;
};
// Consecutive steps of k in memory, and the lines [first, last) that they contribute to.
struct Run {
  int64_t a, b, k, first, last;
};

// Adds all runs to `columns` columns of c. The first run overwrites them unless they are `begun`. b is a panel of
// `width` columns.
template <class T>
void add_runs(const std::vector<Run>& runs, const std::vector<Line>& lines, const T* a, int64_t a_row, const T* b,
              int64_t width, int64_t columns, T* c, int64_t c_row, bool begun) {
  constexpr int64_t lanes = kLanes<T>;
  const int64_t vectors = ceil_div(columns, lanes), last = columns - (vectors - 1) * lanes;
  const int64_t height = kMaxRows[vectors - 1], depth = kStepBytes / (width * int64_t{sizeof(T)});
  for (const Run& run : runs) {
    const int64_t parts = ceil_div(run.k, depth);
    for (int64_t part = 0; part < parts; ++part, begun = true) {
      const int64_t p = part * run.k / parts, k = (part + 1) * run.k / parts - p;
      for (int64_t l = run.first; l < run.last; ++l) {
        const Line& line = lines[static_cast<size_t>(l)];
        const int64_t tiles = ceil_div(line.count, height);
        for (int64_t t = 0; t < tiles; ++t) {
          const int64_t i = t * line.count / tiles, rows = (t + 1) * line.count / tiles - i;
          const Tile<T> tile{.k = k,
                             .a = a + line.a + run.a + p + i * a_row,
                             .a_row = a_row,
                             .a_k = 1,
                             .b = b + (run.b + p) * width,
                             .b_k = width,
                             .c = c + line.c + i * c_row,
                             .c_row = c_row,
                             .alpha = T(1),
                             .beta = T(begun ? 1 : 0),
                             .last = last};
          find_tile<T, Order::row_major>(rows, vectors, last < lanes)(tile);
        }
      }
    }
  }
}

template <class T>
void begin_lines(const std::vector<Line>& lines, const T* bias, int64_t columns, T* c, int64_t c_row) {
  constexpr T zeros[kMaxVectors * kLanes<T>] = {};
  for (const Line& line : lines)
    for (int64_t i = 0; i < line.count; ++i) copy_run(c + line.c + i * c_row, bias ? bias : zeros, columns);
}

// Copies the channels of one group of `count` consecutive pixels to pixels with a stride of `pitch`.
template <class T>
void copy_pixels(T* dst, int64_t pitch, const T* src, int64_t pixel, int64_t count, int64_t channels) {
  constexpr int64_t line = 64 / sizeof(T), ahead = 16;
  if (pitch == pixel && pixel == channels) return copy_run(dst, src, count * channels);
  for (int64_t i = 0; i < count; ++i, dst += pitch, src += pixel) {
    // The hardware does not prefetch parts of pixels.
    for (int64_t c = 0; c < channels; c += line) __builtin_prefetch(src + ahead * pixel + c);
    copy_run(dst, src, channels);
  }
}

template <class T>
class Summing {
 public:
  Summing(const Sums<T>& sums, bool by_images)
      : x_(sums),
        k_(sums.taps() * sums.channels),
        by_images_(by_images),
        vectors_(Tiling(by_images ? sums.batch : sums.axes[2].out, ceil_div(sums.rows, kLanes<T>)).vectors),
        width_(vectors_ * kLanes<T>),
        panels_(ceil_div(sums.rows, width_)) {
    for (Axis& axis : x_.axes)
      std::sort(axis.taps.begin(), axis.taps.end(), [](const Tap& a, const Tap& b) { return a.offset < b.offset; });
  }

  void run() {
    pack_weights();
    if (by_images_) sum_images();
    else sum_lines();
  }

 private:
  template <class F>
  void each_tap(F f) const {
    for (const Tap& a : x_.axes[0].taps)
      for (const Tap& b : x_.axes[1].taps)
        for (const Tap& c : x_.axes[2].taps) f(a, b, c);
  }
  int64_t columns(int64_t panel) const { return std::min(width_, x_.rows - panel * width_); }
  const T* packed(int64_t g, int64_t panel) const { return weights_ + (g * panels_ + panel) * k_ * width_; }
  const T* bias(int64_t g, int64_t panel) const { return x_.bias ? x_.bias + g * x_.rows + panel * width_ : nullptr; }

  void pack_weights() {
    T* const dst = packed_columns<T>.get(x_.groups * panels_ * k_ * width_);
    weights_ = dst;
    parallel_for(x_.groups * panels_, grain_for(k_ * width_, kTaskWork / 16), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t g = i / panels_, panel = i % panels_;
        T* to = dst + i * k_ * width_;
        each_tap([&](const Tap& a, const Tap& b, const Tap& c) {
          const int64_t tap = (a.index * x_.kernel[1] + b.index) * x_.kernel[2] + c.index;
          pack(x_.w + g * x_.w_group + panel * width_ * x_.w_row + tap * x_.w_tap, x_.w_row, x_.w_channel,
               columns(panel), x_.channels, to, width_);
          to += x_.channels * width_;
        });
      }
    });
  }

  // ----- Rows are the outputs of a line -----

  // The location of the inputs: x itself, or a grid that contains the padding.
  struct Place {
    bool in_place;
    int64_t size[3], step[3], image;  // size: of the inputs that are read; step: elements from one to the next
  };
  Place place(const Axis (&axes)[3]) const {
    Place p{axes[2].taps.size() <= 1 || x_.groups == 1, {}, {}, 0};
    for (const Axis& axis : axes) p.in_place = p.in_place && axis.low >= 0 && axis.low + axis.extent() <= axis.in;
    for (int d = 0; d < 3; ++d) p.size[d] = p.in_place ? axes[d].in : axes[d].extent();
    p.step[2] = p.in_place ? x_.groups * x_.channels : x_.channels;
    p.step[1] = p.size[2] * p.step[2];
    p.step[0] = p.size[1] * p.step[1];
    p.image = p.size[0] * p.step[0];
    return p;
  }

  void fill(const Axis (&axes)[3], const Place& p, const T* x, T* dst) const {
    const int64_t channels = x_.channels, pixel = x_.groups * channels;
    const auto& [u, v, w] = axes;
    const Stretch line(p.size[2], w.in, w.low, 1);
    for (int64_t a = 0; a < p.size[0]; ++a)
      for (int64_t b = 0; b < p.size[1]; ++b, dst += p.step[1]) {
        const int64_t i = u.low + a, j = v.low + b;
        if (i < 0 || i >= u.in || j < 0 || j >= v.in || line.first == line.last) {
          std::fill_n(dst, p.step[1], T(0));
          continue;
        }
        const T* from = x + ((i * v.in + j) * w.in + w.low + line.first) * pixel;
        T* to = dst + line.first * channels;
        const int64_t count = line.last - line.first;
        std::fill(dst, to, T(0));
        copy_pixels(to, channels, from, pixel, count, channels);
        std::fill(to + count * channels, dst + p.step[1], T(0));
      }
  }

  std::vector<Run> line_runs(const Place& p, int64_t lines) const {
    std::vector<Run> runs;
    int64_t b = 0, next = -1;
    each_tap([&](const Tap& u, const Tap& v, const Tap& w) {
      const int64_t at = u.offset * p.step[0] + v.offset * p.step[1] + w.offset * p.step[2];
      if (at == next) runs.back().k += x_.channels;
      else runs.push_back({at, b, x_.channels, 0, lines});
      b += x_.channels;
      next = at + x_.channels;
    });
    return runs;
  }

  void sum_lines() const {
    const int axis = x_.axes[0].out > 1 ? 0 : 1;
    const int64_t out = x_.axes[axis].out, threads = get_num_threads();
    const Place whole = place(x_.axes);
    const int64_t bytes = (whole.image + x_.outputs() * width_) * int64_t{sizeof(T)};
    int64_t images = 1, lines = out;
    if (bytes > kBlockBytes) {
      lines = std::max(std::min<int64_t>(4, out), out * kBlockBytes / bytes);
    } else {
      const int64_t fair = x_.batch * x_.groups / (4 * threads);
      const int64_t many = std::min(ceil_div(kManyOutputs, x_.outputs()), 4 * kBlockBytes / bytes);
      images = std::clamp<int64_t>(std::max(std::min(kBlockBytes / bytes, fair), many), 1, x_.batch);
    }
    const int64_t others = ceil_div(x_.batch, images) * x_.groups;
    if (others < 2 * threads) lines = std::min(lines, ceil_div(out, ceil_div(2 * threads, others)));
    lines = ceil_div(out, ceil_div(out, lines));
    const int64_t strips = ceil_div(out, lines);

    const int64_t work = images * lines * x_.outputs() / out * k_ * x_.rows;
    parallel_for(others * strips, grain_for(work), [&](int64_t begin, int64_t end) {
      std::vector<Line> list;
      for (int64_t task = begin; task < end; ++task) {
        const int64_t strip = task % strips * lines, g = task / strips % x_.groups;
        const int64_t image = task / strips / x_.groups * images;
        Axis axes[3] = {x_.axes[0], x_.axes[1], x_.axes[2]};
        axes[axis] = axes[axis].part(strip, std::min(lines, out - strip));
        sum_block(axes, axis == 0 ? strip : 0, axis == 1 ? strip : 0, image, std::min(images, x_.batch - image), g,
                  list);
      }
    });
  }

  void sum_block(const Axis (&axes)[3], int64_t begin0, int64_t begin1, int64_t image, int64_t images, int64_t g,
                 std::vector<Line>& lines) const {
    Place p = place(axes);
    const int64_t in_image = axes[0].in * axes[1].in * axes[2].in * x_.groups * x_.channels;
    const T* x = x_.x + image * in_image + g * x_.channels;
    if (p.in_place) {
      x += axes[0].low * p.step[0] + axes[1].low * p.step[1] + axes[2].low * p.step[2];
    } else {
      T* grid = copied_lines<T>.get(images * p.image);
      for (int64_t n = 0; n < images; ++n) fill(axes, p, x + n * in_image, grid + n * p.image);
      x = grid;
    }
    lines.clear();
    for (int64_t n = 0; n < images; ++n)
      for (int64_t a = 0; a < axes[0].out; ++a)
        for (int64_t b = 0; b < axes[1].out; ++b)
          lines.push_back({n * p.image + a * axes[0].step * p.step[0] + b * axes[1].step * p.step[1],
                           n * x_.y_image() + x_.y_at(begin0 + a, begin1 + b), axes[2].out});
    const std::vector<Run> runs = line_runs(p, static_cast<int64_t>(lines.size()));
    const int64_t c_row = x_.every[2] * x_.groups * x_.rows;
    for (int64_t panel = 0; panel < panels_; ++panel) {
      T* c = x_.y + image * x_.y_image() + g * x_.rows + panel * width_;
      const bool begun = x_.bias || runs.empty();
      if (begun) begin_lines(lines, bias(g, panel), columns(panel), c, c_row);
      add_runs(runs, lines, x, axes[2].step * p.step[2], packed(g, panel), width_, columns(panel), c, c_row, begun);
    }
  }

  // ----- Rows are images -----

  void sum_images() const {
    const auto& [u, v, w] = x_.axes;
    const int64_t pixel = x_.groups * x_.channels, in_image = u.in * v.in * w.in * pixel, y_image = x_.y_image();
    const int64_t most = std::max<int64_t>(32, 2 * kGridBytes / (in_image * int64_t{sizeof(T)} + 1));
    const int64_t images = ceil_div(x_.batch, ceil_div(x_.batch, most)), blocks = ceil_div(x_.batch, images);
    std::vector<Line> outputs, lines;
    for (int64_t a = 0; a < u.out; ++a)
      for (int64_t b = 0; b < v.out; ++b)
        for (int64_t c = 0; c < w.out; ++c)
          outputs.push_back({0, x_.y_at(a, b) + c * x_.every[2] * x_.groups * x_.rows, 0});
    std::vector<Run> runs;
    each_tap([&](const Tap& d, const Tap& e, const Tap& f) {
      Run run{0, static_cast<int64_t>(runs.size()) * x_.channels, x_.channels, static_cast<int64_t>(lines.size()), 0};
      for (int64_t a = 0; a < u.out; ++a)
        for (int64_t b = 0; b < v.out; ++b)
          for (int64_t c = 0; c < w.out; ++c) {
            const int64_t i = u.low + a * u.step + d.offset, j = v.low + b * v.step + e.offset;
            const int64_t l = w.low + c * w.step + f.offset;
            if (i < 0 || i >= u.in || j < 0 || j >= v.in || l < 0 || l >= w.in) continue;
            const Line& output = outputs[static_cast<size_t>((a * v.out + b) * w.out + c)];
            lines.push_back({((i * v.in + j) * w.in + l) * pixel, output.c, 0});
          }
      run.last = static_cast<int64_t>(lines.size());
      runs.push_back(run);
    });
    const int64_t tasks = blocks * x_.groups * panels_;
    parallel_for(tasks, grain_for(x_.batch * x_.outputs() * k_ * x_.rows / tasks), [&](int64_t begin, int64_t end) {
      std::vector<Line> all = outputs, seen = lines;
      for (int64_t task = begin; task < end; ++task) {
        const int64_t panel = task % panels_, g = task / panels_ % x_.groups;
        const int64_t image = task / panels_ / x_.groups * images, count = std::min(images, x_.batch - image);
        for (Line& line : all) line.count = count;
        for (Line& line : seen) line.count = count;
        T* c = x_.y + image * y_image + g * x_.rows + panel * width_;
        begin_lines(all, bias(g, panel), columns(panel), c, y_image);
        add_runs(runs, seen, x_.x + image * in_image + g * x_.channels, in_image, packed(g, panel), width_,
                 columns(panel), c, y_image, true);
      }
    });
  }

  Sums<T> x_;
  int64_t k_;
  bool by_images_;
  int64_t vectors_, width_, panels_;
  const T* weights_ = nullptr;
};

// Whether rows are better formed by the same output of all images than by the outputs of a line.
template <class T>
bool better_by_images(const Sums<T>& x) {
  double seen = 1;  // fraction of the taps that are not in the padding
  for (const Axis& axis : x.axes) {
    int64_t inside = 0;
    for (int64_t o = 0; o < axis.out; ++o)
      for (const Tap& tap : axis.taps) {
        const int64_t at = axis.low + o * axis.step + tap.offset;
        inside += at >= 0 && at < axis.in;
      }
    const auto all = static_cast<double>(axis.out) * static_cast<double>(axis.taps.size());
    seen *= static_cast<double>(inside) / std::max(1.0, all);
  }
  const int64_t vectors = ceil_div(x.rows, kLanes<T>), count = x.axes[2].out;
  const double lines = static_cast<double>(Tiling(count, vectors).time) / static_cast<double>(count);
  const double images = static_cast<double>(Tiling(x.batch, vectors).time) / static_cast<double>(x.batch);
  return x.outputs() <= 64 && images * seen < lines;
}

template <class T>
void make_sums(const Sums<T>& x) {
  if (x.batch * x.groups * x.rows * x.outputs() > 0) Summing<T>(x, better_by_images(x)).run();
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
