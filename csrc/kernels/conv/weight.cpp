// The gradient of a convolution's weight: sums over all outputs of all images of x, seen through each tap, times dy.
//
// product_sums() is a matrix product with k = output positions: rows are (channel, tap), columns output channels. dy is
// packed into panels, a few lines of an image at a time; the rows are read from the planes of x (conv/planes.h) by one
// pointer for each, which all move together. Where a group has too few output channels to fill a vector (depthwise
// convolution), dot_sums() runs vectors along the positions instead, with stride 1, in float32, on x itself (LineDots).
// With one tap, on x itself, the gradient is a plain product of each image (gemm.h).
//
// The order of summation follows from the shape alone: positions are cut into blocks, blocks into at most kChunks
// chunks with sums of their own, which are added up in order. Threads share chunks, groups and channels.
#include <array>
#include <optional>

#include "core/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/planes.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/micro.h"
#include "kernels/scratch.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kChunks = 16;
constexpr int64_t kSums = int64_t{1} << 20;      // most partial sums that are kept
constexpr int64_t kPlaneBytes = 384 << 10;       // of x's planes that stay in L2
constexpr int64_t kPanelBytes = 28 << 10;        // of packed dy that stay in L1
constexpr int64_t kTaskWork = int64_t{1} << 18;  // multiply-adds worth handing to a thread

template <class T>
const Scratch<T> partial_sums;
template <class T>
const Scratch<T> planes_of_x;
template <class T>
const Scratch<T> packed_dy;

// A line of outputs, or a part of one: `size` positions from `start` on, in the planes of x.
struct Segment {
  int64_t start, size;
};

// rows x vectors of c (+)= sum over segments of x[row][position] * b[position, columns]. There are tiles of a third,
// two thirds and all of the rows that the registers allow; `filled` rows are stored, the others must be readable.
template <class T>
struct WeightTile {
  int64_t filled;
  const T* const* x;
  int64_t step;  // between neighbouring positions
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

// ----- How the positions are cut -----

// A strip is some lines of an image, along the first axis that has several.
struct Strips {
  int64_t count, lines;
  int axis;
  Strips(const ConvShape& s, int64_t channels, int64_t size) {
    axis = s.out[0] > 1 ? 0 : s.out[1] > 1 ? 1 : 2;
    const int64_t bytes = std::max<int64_t>(1, channels * s.in_size() * size);
    const int64_t least = std::min<int64_t>(axis == 2 ? 256 : 4, s.out[axis]);
    lines = std::clamp<int64_t>(s.out[axis] * kPlaneBytes / bytes, least, s.out[axis]);
    count = ceil_div(s.out[axis], lines);
    lines = ceil_div(s.out[axis], count);
    count = ceil_div(s.out[axis], lines);
  }
};

// The planes that the outputs of a strip see, in any image; together: inputs that a stride separates lie side by side.
template <class T>
struct Strip {
  int64_t size[3];  // of outputs
  int64_t first;    // position of its first output within the plane of dy
  Planes<T> planes;
  std::vector<int64_t> offsets;

  Strip(const ConvShape& s, const Strips& strips, int64_t index, bool together)
      : size{s.out[0], s.out[1], s.out[2]}, planes(seen(s, strips, index, together)), offsets(planes.offsets()) {}

 private:
  Planes<T> seen(const ConvShape& s, const Strips& strips, int64_t index, bool together) {
    int64_t begin[3] = {};
    begin[strips.axis] = index * strips.lines;
    size[strips.axis] = std::min(strips.lines, s.out[strips.axis] - begin[strips.axis]);
    first = (begin[0] * s.out[1] + begin[1]) * s.out[2] + begin[2];
    Axis axes[3];
    for (int d = 0; d < 3; ++d) {
      const int64_t low = begin[d] * s.stride[d] - s.padding[d];
      axes[d] = together ? Axis{s.in[d], size[d], s.stride[d], low, {}}
                         : Axis{s.in[d], (size[d] - 1) * s.stride[d] + 1, 1, low, {}};
      for (int64_t t = 0; t < s.kernel[d]; ++t) axes[d].taps.push_back({t, t * s.dilation[d]});
    }
    return Planes<T>(axes, true);
  }
};

template <class T>
std::vector<Strip<T>> all_strips(const ConvShape& s, const Strips& strips, bool together) {
  std::vector<Strip<T>> list;
  for (int64_t i = 0; i < strips.count; ++i) list.emplace_back(s, strips, i, together);
  return list;
}

// `count` planes of each of some images, image_step apart, copied if need be, and then with another image_step; where
// the first output reads its lowest tap.
template <class T>
const T* read_planes(const Planes<T>& planes, const T* x, int64_t in_size, int64_t images, int64_t& image_step,
                     int64_t count) {
  if (planes.in_place()) return x + planes.start();
  T* copy = planes_of_x<T>.get(images * count * planes.plane());
  for (int64_t n = 0; n < images; ++n)
    for (int64_t c = 0; c < count; ++c)
      planes.fill(copy + (n * count + c) * planes.plane(), x + n * image_step + c * in_size);
  image_step = count * planes.plane();
  return copy;
}

// Work items that share nothing but what they read: chunk of strips, group, part of the channels.
struct Plan {
  int64_t strips, chunks, parts;
  Plan(const ConvShape& s, int64_t strips, int64_t sums, int64_t unit) : strips(strips) {
    const int64_t useful = ceil_div(4 * kChunks, s.groups);  // groups are shared out too
    chunks = std::clamp<int64_t>(std::min({strips, useful, kSums / std::max<int64_t>(1, sums)}), 1, kChunks);
    const int64_t wanted = 2 * get_num_threads();
    parts = std::clamp<int64_t>(ceil_div(wanted, chunks * s.groups), 1, std::max<int64_t>(1, s.in_channels / unit));
  }
  int64_t begin(int64_t chunk) const { return chunk * strips / chunks; }
};

// ----- The two ways -----

template <class T>
void product_sums(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t taps = s.taps(), rows = s.in_channels * taps, in_size = s.in_size(), out_size = s.out_size();
  const int64_t all_vectors = ceil_div(s.out_channels, kLanes<T>);
  constexpr int64_t most = kVectorBytes == 64 ? kMaxVectors : 2;
  const int64_t panels = ceil_div(all_vectors, most), vectors = ceil_div(all_vectors, panels);
  const int64_t width = vectors * kLanes<T>, columns = panels * width;
  const int64_t block = std::max<int64_t>(32, kPanelBytes / (width * int64_t{sizeof(T)}));

  const Strips strips(s, s.in_channels, sizeof(T));
  const std::vector<Strip<T>> layouts = all_strips<T>(s, strips, false);
  // Small images share a block, so that the sums are not stored and loaded for a few positions each.
  const int64_t together = strips.count > 1 ? 1 : std::clamp<int64_t>(block / out_size, 1, s.batch);
  const Plan plan(s, ceil_div(s.batch, together) * strips.count, s.groups * rows * columns, ceil_div(64, taps));
  const int64_t sums = s.groups * rows * columns;
  T* partial = partial_sums<T>.get(plan.chunks * sums);
  const int64_t work = s.batch * out_size * s.groups * rows * columns, tasks = plan.chunks * s.groups * plan.parts;

  parallel_for(
      tasks, std::max<int64_t>(1, tasks * kTaskWork / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
        std::vector<Segment> segments;
        for (int64_t task = begin; task < end; ++task) {
          const int64_t chunk = task % plan.chunks, g = task / plan.chunks % s.groups,
                        part = task / plan.chunks / s.groups;
          const int64_t c_begin = part * s.in_channels / plan.parts, c_end = (part + 1) * s.in_channels / plan.parts;
          const int64_t height =
              ceil_div((c_end - c_begin) * taps, ceil_div((c_end - c_begin) * taps, kMaxRows[vectors - 1]));
          T* c = partial + chunk * sums + (g * rows + c_begin * taps) * columns;
          bool add = false;
          for (int64_t i = plan.begin(chunk); i < plan.begin(chunk + 1); ++i) {
            const int64_t image = i / strips.count * together, images = std::min(together, s.batch - image);
            const Strip<T>& strip = layouts[static_cast<size_t>(i % strips.count)];
            const Planes<T>& planes = strip.planes;
            int64_t image_step = s.groups * s.in_channels * in_size;
            const T* source = read_planes(planes, x + ((image * s.groups + g) * s.in_channels + c_begin) * in_size,
                                          in_size, images, image_step, c_end - c_begin);
            const T* dy_rows = dy + (image * s.groups + g) * s.out_channels * out_size + strip.first;
            auto multiply = [&](T* b, int64_t k) {
              // What memory held before may be denormal numbers, which are slow.
              if (const int64_t missing = columns - s.out_channels; missing > 0)
                for (int64_t p = 0; p < k; ++p)
                  std::fill_n(b + (columns - width) * k + (p + 1) * width - missing, missing, T(0));
              for (int64_t panel = 0; panel < panels; ++panel)
                for (int64_t row = 0; row < (c_end - c_begin) * taps; row += height) {
                  const int64_t filled = std::min(height, (c_end - c_begin) * taps - row);
                  const T* pointers[kMostRows];
                  for (int64_t r = 0; r < kMostRows; ++r) {
                    const int64_t at = row + std::min(r, filled - 1);
                    pointers[r] = source + at / taps * planes.plane() + strip.offsets[at % taps];
                  }
                  run_tile<T>({filled, pointers, s.stride[2], segments.data(), static_cast<int64_t>(segments.size()),
                               b + panel * width * k, c + row * columns + panel * width, columns, add},
                              vectors);
                }
              add = true;
            };
            auto segment = [&](int64_t line, int64_t from, int64_t size) {
              return Segment{planes.position(line / strip.size[1] * s.stride[0], line % strip.size[1] * s.stride[1],
                                             from * s.stride[2]),
                             size};
            };

            if (together > 1) {
              segments.clear();
              const int64_t k = images * out_size;
              T* b = packed_dy<T>.get(k * columns);
              for (int64_t n = 0; n < images; ++n) {
                for (int64_t line = 0; line < s.out[0] * s.out[1]; ++line) {
                  segments.push_back(segment(line, 0, s.out[2]));
                  segments.back().start += n * image_step;
                }
                for (int64_t panel = 0; panel < panels; ++panel)
                  pack(dy_rows + (n * s.groups * s.out_channels + panel * width) * out_size, out_size, 1,
                       std::min(width, s.out_channels - panel * width), out_size,
                       b + (panel * k + n * out_size) * width, width);
              }
              multiply(b, k);
              continue;
            }

            const int64_t lines = strip.size[0] * strip.size[1], width_out = strip.size[2],
                          pieces = ceil_div(width_out, block);
            int64_t at = 0;  // positions done
            for (int64_t piece = 0; piece < lines * pieces;) {
              segments.clear();
              int64_t k = 0;
              for (; piece < lines * pieces; ++piece) {
                const int64_t line = piece / pieces, from = piece % pieces * width_out / pieces;
                const int64_t size = (piece % pieces + 1) * width_out / pieces - from;
                if (k > 0 && k + size > block) break;
                segments.push_back(segment(line, from, size));
                k += size;
              }
              T* b = packed_dy<T>.get(k * columns);
              pack(dy_rows + at, out_size, 1, s.out_channels, k, b, width);
              at += k;
              multiply(b, k);
            }
          }
        }
      });

  // Adds up the chunks and transposes to (channel out, channel in, tap).
  parallel_for(s.groups * rows, std::max<int64_t>(kLanes<T>, kTaskWork / 16 / (plan.chunks * columns)),
               [&](int64_t begin, int64_t end) {
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
               });
}

// Vectors of the outputs of a strip. Where lanes cannot be spread cheaply, each is of one line.
template <class T>
std::vector<Spot> dot_spots(const Strip<T>& strip) {
  std::vector<Spot> spots;
  const int64_t n1 = strip.size[1], n2 = strip.size[2], total = strip.size[0] * n1 * n2, step = kExpands ? total : n2;
  for (int64_t begin = 0; begin < total; begin += step)
    cover(strip.planes, n1, n2, std::numeric_limits<int64_t>::max(), begin, begin + step, [&](Spot spot) {
      spot.first += begin;
      spots.push_back(spot);
    });
  return spots;
}

// sums[t, lane] += dy times x under tap t, at all spots.
template <class T, int taps>
void dot_taps(const std::vector<Spot>& spots, const T* x, const int64_t* offsets, const T* dy, T* sums) {
  constexpr int lanes = kLanes<T>;
  Vec<T> sum[taps];
  for (int t = 0; t < taps; ++t) sum[t] = load(sums + t * lanes);
  auto step = [&](const Spot& spot, Vec<T> y, auto fetch) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int t = 0; t < taps; ++t) sum[t] = fma(fetch(x + spot.at + offsets[t]), y, sum[t]);
  };
  for (const Spot& spot : spots) {
    if (spot.count == lanes) {
      step(spot, load(dy + spot.first), [](const T* p) { return load(p); });
      continue;
    }
    if constexpr (kExpands) {
      const Mask<T> mask = mask_of<T>(spot.lanes);
      step(spot, get(dy + spot.first, spot), [&](const T* p) { return load(p, mask); });
    } else {
      const Mask<T> mask(spot.count);
      step(spot, load(dy + spot.first, mask), [&](const T* p) { return load(p, mask); });
    }
  }
  for (int t = 0; t < taps; ++t) store(sums + t * lanes, sum[t]);
}

// The same for lines of a plane of x where it lies, with stride 1: as in conv/depthwise.h, a vector of x is loaded once
// for all of some neighbouring lines of outputs that have a tap of one column of the kernel on it.
template <class T>
class LineDots {
 public:
  static bool suits(const ConvShape& s) {
    bool near = s.in[0] * s.kernel[0] == 1 && s.padding[0] == 0 && s.dilation[1] == 1;
    near = near && s.stride[0] * s.stride[1] * s.stride[2] == 1;
    const bool wide = 2 * s.out[2] >= ceil_div(s.out[2], kLanes<T>) * kLanes<T>;  // narrow lines leave lanes empty
    return near && wide && written_taps(s.kernel[1]);
  }

  explicit LineDots(const ConvShape& s) : s_(s) {
    for (int64_t o = 0; o < s.out[2]; o += kLanes<T>) dy_.emplace_back(o, s.out[2]);
    for (int64_t column = 0; column < s.kernel[2]; ++column)
      for (int64_t o = 0; o < s.out[2]; o += kLanes<T>) {
        const int64_t at = o - s.padding[2] + column * s.dilation[2];
        x_.emplace_back(at, std::min(s.in[2], at + s.out[2] - o));
      }
  }

  void add(const T* x, const T* dy, T* sums) const {
    static constexpr std::array heights{7, 4, 2, 1};
    static constexpr std::array table{tiles<7>(), tiles<4>(), tiles<2>(), tiles<1>()};
    for (int64_t o = 0, i = 0; o < s_.out[1]; o += heights[i]) {
      while (heights[i] > s_.out[1] - o) ++i;
      (this->*table[i][s_.kernel[1] / 2 - 1])(x, o, dy, sums);
    }
  }

 private:
  template <int taps, int lines>
  void tile(const T* x, int64_t line, const T* dy, T* sums) const {
    const int64_t in = s_.in[2], out = s_.out[2], first = line - s_.padding[1], columns = s_.kernel[2];
    uint32_t inside = 0;
    for (int64_t l = 0; l < lines + taps - 1; ++l) inside |= uint32_t{first + l >= 0 && first + l < s_.in[1]} << l;
    const Piece<T>* piece = x_.data();
    for (int64_t column = 0; column < columns; ++column, sums += kLanes<T>) {
      Vec<T> sum[taps];
      written_out<taps>([&](auto i) __attribute__((always_inline)) { sum[i] = load(sums + i * columns * kLanes<T>); });
      for (const Piece<T>& dy_piece : dy_) {
        Vec<T> y[lines];
        written_out<lines>([&](auto i) __attribute__((always_inline)) { y[i] = dy_piece(dy + (line + i) * out); });
        (piece++)->read([&](auto fetch) __attribute__((always_inline)) {
          const T* from = x + first * in;
          written_out<lines + taps - 1>([&](auto i) __attribute__((always_inline)) {
            if (inside >> i & 1) {
              const Vec<T> row = fetch(from);
              written_out<lines>([&](auto j) __attribute__((always_inline)) {
                if constexpr (i >= j && i < j + taps) sum[i - j] = fma(row, y[j], sum[i - j]);
              });
            }
            from += in;
          });
        });
      }
      written_out<taps>([&](auto i) __attribute__((always_inline)) { store(sums + i * columns * kLanes<T>, sum[i]); });
    }
  }

  template <int lines>
  static constexpr auto tiles() {
    return []<int... i>(std::integer_sequence<int, i...>) {
      return std::array{&LineDots::tile<3 + 2 * i, lines>...};
    }(std::make_integer_sequence<int, 3>{});
  }

  const ConvShape& s_;
  std::vector<Piece<T>> dy_, x_;  // the vectors of a line of outputs; and what they see, by column of the kernel
};

template <class T>
void dot_sums(const ConvShape& s, const T* x, const T* dy, T* dw) {
  constexpr int most = 9;
  static constexpr auto table = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array{&dot_taps<T, i + 1>...};
  }(std::make_integer_sequence<int, most>{});
  const int64_t taps = s.taps(), in_size = s.in_size(), out_size = s.out_size();
  const Strips strips(s, 1, sizeof(T));
  constexpr bool direct = kFastMasks && std::is_same_v<T, float>;
  std::optional<LineDots<T>> lines;
  if constexpr (direct)
    if (strips.count == 1 && LineDots<T>::suits(s)) lines.emplace(s);
  const std::vector<Strip<T>> layouts = all_strips<T>(s, strips, true);
  std::vector<std::vector<Spot>> spots;
  for (const Strip<T>& strip : layouts) spots.push_back(dot_spots(strip));
  const int64_t per_group = s.out_channels * s.in_channels * taps, sums = s.groups * per_group;
  const Plan plan(s, s.batch * strips.count, sums, s.in_channels + 1);
  T* partial = partial_sums<T>.get(plan.chunks * sums);
  const int64_t work = s.batch * out_size * sums, tasks = plan.chunks * s.groups;
  parallel_for(tasks, std::max<int64_t>(1, tasks * kTaskWork / std::max<int64_t>(1, work)),
               [&](int64_t begin, int64_t end) {
                 std::vector<T> lane_sums(static_cast<size_t>(per_group * kLanes<T>));
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t chunk = task % plan.chunks, g = task / plan.chunks;
                   std::fill(lane_sums.begin(), lane_sums.end(), T(0));
                   for (int64_t i = plan.begin(chunk); i < plan.begin(chunk + 1); ++i) {
                     const int64_t image = i / strips.count;
                     const Strip<T>& strip = layouts[static_cast<size_t>(i % strips.count)];
                     const T* images = x + (image * s.groups + g) * s.in_channels * in_size;
                     const T* dys = dy + (image * s.groups + g) * s.out_channels * out_size + strip.first;
                     for (int64_t c = 0; c < s.in_channels; ++c) {
                       if constexpr (direct)
                         if (lines) {
                           for (int64_t m = 0; m < s.out_channels; ++m)
                             lines->add(images + c * in_size, dys + m * out_size,
                                        lane_sums.data() + (m * s.in_channels + c) * taps * kLanes<T>);
                           continue;
                         }
                       int64_t image_step = 0;
                       const T* source = read_planes(strip.planes, images + c * in_size, in_size, 1, image_step, 1);
                       for (int64_t m = 0; m < s.out_channels; ++m)
                         for (int64_t t = 0; t < taps; t += most) {
                           const int64_t count = std::min<int64_t>(most, taps - t);
                           table[count - 1](spots[static_cast<size_t>(i % strips.count)], source,
                                            strip.offsets.data() + t, dys + m * out_size,
                                            lane_sums.data() + ((m * s.in_channels + c) * taps + t) * kLanes<T>);
                         }
                     }
                   }
                   T* out = partial + chunk * sums + g * per_group;
                   for (int64_t i = 0; i < per_group; ++i) {
                     out[i] = 0;
                     for (int64_t lane = 0; lane < kLanes<T>; ++lane)
                       out[i] += lane_sums[static_cast<size_t>(i * kLanes<T> + lane)];
                   }
                 }
               });
  for (int64_t i = 0; i < sums; ++i) {
    T total = partial[i];
    for (int64_t chunk = 1; chunk < plan.chunks; ++chunk) total += partial[chunk * sums + i];
    dw[i] = total;
  }
}

// dw = the sum over images of dy @ x^T, where output and input have the same positions.
template <class T>
void image_products(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t size = s.in_size(), per_group = s.out_channels * s.in_channels, sums = s.groups * per_group;
  const int64_t chunks = std::clamp<int64_t>(std::min(s.batch, kSums / sums), 1, kChunks);
  T* partial = chunks > 1 ? partial_sums<T>.get(chunks * sums) : dw;
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t chunk = task / s.groups, g = task % s.groups, first = chunk * s.batch / chunks;
      for (int64_t n = first; n < (chunk + 1) * s.batch / chunks; ++n) {
        const GemmMatrix<T> a{dy + (n * s.groups + g) * s.out_channels * size, size, 1};
        const GemmMatrix<T> b{x + (n * s.groups + g) * s.in_channels * size, 1, size};
        T* c = partial + chunk * sums + g * per_group;
        const T beta = n > first ? 1 : 0;
        if constexpr (sizeof(T) == 4)
          sgemm(s.out_channels, s.in_channels, size, 1, a, b, beta, {}, c, s.in_channels, 1);
        else dgemm(s.out_channels, s.in_channels, size, 1, a, b, beta, {}, c, s.in_channels, 1);
      }
    }
  };
  // Few large products are cut by themselves.
  if (chunks * s.groups < 2 * get_num_threads()) run(0, chunks * s.groups);
  else
    parallel_for(chunks * s.groups, std::max<int64_t>(1, kTaskWork / (ceil_div(s.batch, chunks) * per_group * size)),
                 run);
  if (chunks == 1) return;
  parallel_for(sums, kTaskWork / 16, [&](int64_t begin, int64_t end) {
    std::copy(partial + begin, partial + end, dw + begin);
    for (int64_t chunk = 1; chunk < chunks; ++chunk) {
      const T* more = partial + chunk * sums;
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) dw[i] += more[i];
    }
  });
}

template <class T>
void weight(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t count = s.groups * s.out_channels * s.in_channels * s.taps();
  if (count == 0) return;
  if (s.batch * s.out_size() == 0) {
    std::fill_n(dw, count, T(0));
  } else if (s.out_channels * 4 <= kLanes<T>) {
    dot_sums(s, x, dy, dw);
  } else if (s.on_input() && s.in_size() >= 32) {
    image_products(s, x, dy, dw);
  } else {
    product_sums(s, x, dy, dw);
  }
}

}  // namespace

void conv_weight(DType dtype, const ConvShape& shape, const void* x, const void* dy, void* dw) {
  if (dtype == DType::Float32)
    weight<float>(shape, static_cast<const float*>(x), static_cast<const float*>(dy), static_cast<float*>(dw));
  else weight<double>(shape, static_cast<const double*>(x), static_cast<const double*>(dy), static_cast<double*>(dw));
}

GENESIS_KERNEL(conv_weight)

}  // namespace genesis::kernels::GENESIS_ISA
