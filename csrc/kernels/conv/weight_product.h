// The gradient of a convolution's weight as a matrix product with k = output positions. Rows are (channel, tap),
// columns are output channels. dy is packed into panels, a few lines of an image at a time. The rows are read from the
// planes of x (conv/planes.h), with one pointer per row; all pointers advance together.
#pragma once

#include <array>

#include "kernels/conv/weight_strips.h"
#include "kernels/gemm/micro.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kPanelBytes = 28 << 10;  // size of the packed dy that stays in L1

template <class T>
const Scratch<T> packed_dy;

// A line of outputs, or a part of one: `size` positions starting at `start` in the planes of x.
struct Segment {
  int64_t start, size;
};

// rows x vectors of c (+)= sum over segments of x[row][position] * b[position, columns]. There are tiles with a third,
// two thirds and all of the rows that fit in the registers. `filled` rows are stored; the others must be readable.
template <class T>
struct WeightTile {
  int64_t filled;
  const T* const* x;
  int64_t step;  // between consecutive positions
  const Segment* segments;
  int64_t count;
  const T* b;
  T* c;
  int64_t c_row;
  bool add;
};

template <class T, int rows, int vectors>
void weight_tile(const WeightTile<T>& t) {
  constexpr int lanes = kLanes<T>;
  Vec<T> sum[rows][vectors] = {};
  const T* x[rows];
  for (int i = 0; i < rows; ++i) x[i] = t.x[i];
  const T* b = t.b;
  const int64_t step = t.step;
  for (const Segment *s = t.segments, *end = s + t.count; s < end; ++s) {
    for (int64_t at = s->start, stop = at + s->size * step; at < stop; at += step, b += vectors * lanes) {
      Vec<T> row[vectors];
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) row[j] = load(b + j * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
        const Vec<T> factor = broadcast<T>(x[i][at]);
#pragma GCC unroll 8
        for (int j = 0; j < vectors; ++j) sum[i][j] = fma(factor, row[j], sum[i][j]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    if (i == t.filled) break;
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) {
      T* c = t.c + i * t.c_row + j * lanes;
      store(c, t.add ? load(c) + sum[i][j] : sum[i][j]);
    }
  }
}

constexpr int kThirds = 3;
constexpr int tile_rows(int vectors, int third) { return (kMaxRows[vectors - 1] * third + kThirds - 1) / kThirds; }

template <class T>
void run_tile(const WeightTile<T>& t, int64_t vectors) {
  static constexpr auto table = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array{&weight_tile<T, tile_rows(i / kThirds + 1, i % kThirds + 1), i / kThirds + 1>...};
  }(std::make_integer_sequence<int, kThirds * kMaxVectors>{});
  int third = 1;
  while (tile_rows(static_cast<int>(vectors), third) < t.filled) ++third;
  table[(vectors - 1) * kThirds + third - 1](t);
}

// The product, split into tasks. Partial sums have the layout (chunk, group, channel in, tap, channel out), with
// padding in the last dimension.
template <class T>
struct ProductSums {
  const ConvShape& s;
  const T* x;
  const T* dy;
  const int64_t taps = s.taps(), rows = s.in_channels * taps, in_size = s.in_size(), out_size = s.out_size();
  // Output channels: `panels` of `vectors` vectors each.
  static constexpr int64_t kMost = kVectorBytes == 64 ? kMaxVectors : 2;
  const int64_t all_vectors = ceil_div(s.out_channels, kLanes<T>);
  const int64_t panels = ceil_div(all_vectors, kMost), vectors = ceil_div(all_vectors, panels);
  const int64_t width = vectors * kLanes<T>, columns = panels * width;
  // positions packed at a time
  const int64_t block = std::max<int64_t>(32, kPanelBytes / (width * int64_t{sizeof(T)}));

  const Strips strips{s, s.in_channels, sizeof(T)};
  const std::vector<Strip<T>> layouts = all_strips<T>(s, strips, false);
  // Small images share a block, so that sums are not stored and reloaded after a few positions.
  const int64_t together = strips.count > 1 ? 1 : std::clamp<int64_t>(block / out_size, 1, s.batch);
  const int64_t sums = s.groups * rows * columns;
  const Plan plan{s, ceil_div(s.batch, together) * strips.count, sums, ceil_div(64, taps)};
  T* const partial = partial_sums<T>.get(plan.chunks * sums);

  void run(T* dw) {
    const int64_t work = s.batch * out_size * sums, tasks = plan.chunks * s.groups * plan.parts;
    parallel_for(tasks, std::max<int64_t>(1, tasks * kTaskWork / std::max<int64_t>(1, work)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t task = begin; task < end; ++task) Task(*this, task).run();
                 });
    parallel_for(s.groups * rows, std::max<int64_t>(kLanes<T>, kTaskWork / 16 / (plan.chunks * columns)),
                 [&](int64_t begin, int64_t end) { add_chunks(begin, end, dw); });
  }

 private:
  // A range of channels of one group, over one chunk of strips.
  struct Task {
    const ProductSums& all;
    const ConvShape& s = all.s;
    const int64_t chunk, group, first_channel, channels;
    const int64_t height = ceil_div(channels * all.taps, ceil_div(channels* all.taps, kMaxRows[all.vectors - 1]));
    T* const c = all.partial + chunk * all.sums + (group * all.rows + first_channel * all.taps) * all.columns;
    bool add = false;  // to existing sums
    // Of the current strip:
    const Strip<T>* strip = nullptr;
    const T* source = nullptr;
    std::vector<Segment> segments;

    Task(const ProductSums& all, int64_t task) : Task(all, task, task / all.plan.chunks / all.s.groups) {}

    void run() {
      for (int64_t i = all.plan.begin(chunk); i < all.plan.begin(chunk + 1); ++i) {
        const int64_t image = i / all.strips.count * all.together, images = std::min(all.together, s.batch - image);
        strip = &all.layouts[static_cast<size_t>(i % all.strips.count)];
        int64_t image_step = s.groups * s.in_channels * all.in_size;
        source = read_planes(strip->planes,
                             all.x + ((image * s.groups + group) * s.in_channels + first_channel) * all.in_size,
                             all.in_size, images, image_step, channels);
        const T* dy = all.dy + (image * s.groups + group) * s.out_channels * all.out_size + strip->first;
        if (all.together > 1) multiply_images(dy, images, image_step);
        else multiply_lines(dy);
      }
    }

   private:
    Task(const ProductSums& all, int64_t task, int64_t part)
        : all(all),
          chunk(task % all.plan.chunks),
          group(task / all.plan.chunks % all.s.groups),
          first_channel(part * all.s.in_channels / all.plan.parts),
          channels((part + 1) * all.s.in_channels / all.plan.parts - first_channel) {}

    Segment segment(int64_t line, int64_t from, int64_t size) const {
      const int64_t n1 = strip->size[1];
      return {strip->planes.position(line / n1 * s.stride[0], line % n1 * s.stride[1], from * s.stride[2]), size};
    }

    // Adds all positions of several images at once.
    void multiply_images(const T* dy, int64_t images, int64_t image_step) {
      segments.clear();
      const int64_t k = images * all.out_size, width = all.width;
      T* b = packed_dy<T>.get(k * all.columns);
      for (int64_t n = 0; n < images; ++n) {
        for (int64_t line = 0; line < s.out[0] * s.out[1]; ++line) {
          segments.push_back(segment(line, 0, s.out[2]));
          segments.back().start += n * image_step;
        }
        for (int64_t panel = 0; panel < all.panels; ++panel)
          pack(dy + (n * s.groups * s.out_channels + panel * width) * all.out_size, all.out_size, 1,
               std::min(width, s.out_channels - panel * width), all.out_size,
               b + (panel * k + n * all.out_size) * width, width);
      }
      multiply(b, k);
    }

    // Adds the lines of a strip of one image, as many at a time as fit in a block; longer lines are split.
    void multiply_lines(const T* dy) {
      const int64_t lines = strip->size[0] * strip->size[1], width_out = strip->size[2];
      const int64_t pieces = ceil_div(width_out, all.block);
      for (int64_t piece = 0; piece < lines * pieces;) {
        segments.clear();
        int64_t k = 0;
        for (; piece < lines * pieces; ++piece) {
          const int64_t line = piece / pieces, from = piece % pieces * width_out / pieces;
          const int64_t size = (piece % pieces + 1) * width_out / pieces - from;
          if (k > 0 && k + size > all.block) break;
          segments.push_back(segment(line, from, size));
          k += size;
        }
        T* b = packed_dy<T>.get(k * all.columns);
        pack(dy, all.out_size, 1, s.out_channels, k, b, all.width);
        dy += k;
        multiply(b, k);
      }
    }

    // Adds the positions of `segments`, for which dy is packed in b.
    void multiply(T* b, int64_t k) {
      const int64_t width = all.width, columns = all.columns;
      // Clear the padding: stale memory may contain subnormal numbers, which are slow.
      if (const int64_t missing = columns - s.out_channels; missing > 0)
        for (int64_t p = 0; p < k; ++p)
          std::fill_n(b + (columns - width) * k + (p + 1) * width - missing, missing, T(0));
      for (int64_t panel = 0; panel < all.panels; ++panel)
        for (int64_t row = 0; row < channels * all.taps; row += height) {
          const int64_t filled = std::min(height, channels * all.taps - row);
          const T* pointers[kMostRows];
          for (int64_t r = 0; r < kMostRows; ++r) {
            const int64_t at = row + std::min(r, filled - 1);
            pointers[r] = source + at / all.taps * strip->planes.plane() + strip->offsets[at % all.taps];
          }
          run_tile<T>({.filled = filled,
                       .x = pointers,
                       .step = s.stride[2],
                       .segments = segments.data(),
                       .count = static_cast<int64_t>(segments.size()),
                       .b = b + panel * width * k,
                       .c = c + row * columns + panel * width,
                       .c_row = columns,
                       .add = add},
                      all.vectors);
        }
      add = true;
    }
  };

  // Sums the chunks of some rows and transposes them to (channel out, channel in, tap).
  void add_chunks(int64_t begin, int64_t end, T* dw) const {
    T* total = partial + begin * columns;
    for (int64_t chunk = 1; chunk < plan.chunks; ++chunk) {
      const T* more = total + chunk * sums;
#pragma GCC ivdep
      for (int64_t i = 0; i < (end - begin) * columns; ++i) total[i] += more[i];
    }
    for (int64_t row = begin; row < end;) {
      const int64_t g = row / rows, stop = std::min(end, (g + 1) * rows);
      scatter(partial + row * columns, columns, stop - row, s.out_channels, T(0), {},
              dw + g * s.out_channels * rows + row - g * rows, 1, rows);
      row = stop;
    }
  }
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
