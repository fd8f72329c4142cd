// Convolution as a matrix product whose right-hand side is never stored.
//
// correlate() is the whole of it; the forward map is one correlation, its transpose one for each residue of the output
// position modulo the stride. Of a block (images, or groups or lines of an image), the planes are copied once into a grid
// with the padding in it (conv_planes.h), small enough to stay in cache. There, 16 neighbouring outputs read 16
// neighbouring inputs, whatever the tap, so a register tile of some channels by some such vectors runs over k = (channel,
// tap) like the tile of a matrix product: it broadcasts packed weights, and finds the row of its right-hand side by a
// table of offsets. A vector may run over the end of a line into the padding; the lanes that are no outputs are left out
// when it is stored.
//
// An output is always summed in the same order, whatever block, tile or thread it falls to.
#include "kernels/conv.h"

#include "core/parallel.h"
#include "kernels/conv_planes.h"
#include "kernels/gemm_micro.h"
#include "kernels/scratch.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kBlockBytes = 512 << 10;       // of copied planes that stay in L2
constexpr int64_t kGroupBytes = 32 << 10;        // of copied planes of some groups, in L1
constexpr int64_t kTileBytes = 24 << 10;         // of input that a tile reads again and again, in L1
constexpr int64_t kTaskWork = int64_t{1} << 18;  // multiply-adds worth handing to a thread

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ----- Tiles -----

// A vector of neighbouring positions. Its lanes that are outputs follow each other in the result.
struct Spot {
  int64_t at;     // position of lane 0
  int64_t first;  // the output that its first valid lane is
  int count;
  uint32_t lanes;
};

template <class T>
void put(T* out, Vec<T> v, const Spot& spot) {
  if (spot.count == kLanes<T>) return store(out, v);
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) v = _mm512_maskz_compress_ps(static_cast<__mmask16>(spot.lanes), v);
  else v = _mm512_maskz_compress_pd(static_cast<__mmask8>(spot.lanes), v);
  store(out, v, Mask<T>(spot.count));
#else
  for (int lane = 0; lane < kLanes<T>; ++lane)
    if (spot.lanes >> lane & 1) *out++ = v[lane];
#endif
}

template <class T>
Vec<T> get(const T* out, const Spot& spot) {
  if (spot.count == kLanes<T>) return load(out);
#if defined(__AVX512F__)
  const Vec<T> v = load(out, Mask<T>(spot.count));
  if constexpr (sizeof(T) == 4) return _mm512_maskz_expand_ps(static_cast<__mmask16>(spot.lanes), v);
  else return _mm512_maskz_expand_pd(static_cast<__mmask8>(spot.lanes), v);
#else
  Vec<T> v{};
  for (int lane = 0; lane < kLanes<T>; ++lane)
    if (spot.lanes >> lane & 1) v[lane] = *out++;
  return v;
#endif
}

// rows x vectors of outputs: sums over k of a[p * a_k + row] * b[vector][offsets[p] + lane].
template <class T>
struct ConvTile {
  int64_t k;
  const T* a;
  int64_t a_k;
  const int64_t* offsets;
  const T* b[kMaxVectors];
  const Spot* spot[kMaxVectors];
  T* out[kMaxVectors];
  int64_t out_row;
  const T* bias;  // of the rows, or null
  bool add;       // to what is there
  // What the next vectors will read, if that is not in cache: these places under some of the offsets.
  const T* ahead[kMaxVectors];
  const int64_t* ahead_offsets;
  int64_t ahead_count = 0;
};

template <class T, int rows, int vectors>
void conv_tile(const ConvTile<T>& t) {
  Vec<T> sum[rows][vectors] = {};
  const T* b[vectors];
  for (int j = 0; j < vectors; ++j) b[j] = t.b[j];
  const T* a = t.a;
  const int64_t a_k = t.a_k;
  const int64_t* offset = t.offsets;
  int fetched = 0;
  const int64_t* ahead = t.ahead_offsets;
  const int64_t ahead_step = t.ahead_count == 0 ? 0 : ceil_div(t.ahead_count, ceil_div(t.k, kSegment));
  for (int64_t left = t.k; left > 0; left -= kSegment) {
    // Outputs, and what lies ahead, are fetched a little at a time: a burst would hold up the loads.
    if (fetched < rows) {
      for (int j = 0; j < vectors; ++j) __builtin_prefetch(t.out[j] + t.spot[j]->first + fetched * t.out_row, 1);
      ++fetched;
    }
    if (ahead_step > 0)
      for (const int64_t* stop = std::min(ahead + ahead_step, t.ahead_offsets + t.ahead_count); ahead < stop; ++ahead)
        for (int j = 0; j < vectors; ++j) __builtin_prefetch(t.ahead[j] + *ahead);
    for (const int64_t* end = offset + std::min(left, kSegment); offset < end; ++offset, a += a_k) {
      const int64_t at = *offset;
      Vec<T> row[vectors];
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) row[j] = load(b[j] + at);
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
        const Vec<T> x = broadcast<T>(a[i]);
#pragma GCC unroll 8
        for (int j = 0; j < vectors; ++j) sum[i][j] = fma(x, row[j], sum[i][j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < vectors; ++j) {
    const Spot& spot = *t.spot[j];
    T* out = t.out[j] + spot.first;
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i, out += t.out_row) {
      Vec<T> v = sum[i][j];
      if (t.add) v += get<T>(out, spot);
      else if (t.bias) v += broadcast(t.bias[i]);
      put<T>(out, v, spot);
    }
  }
}

template <class T, int index>
constexpr auto conv_tile_at() -> void (*)(const ConvTile<T>&) {
  constexpr int rows = index / kMaxVectors + 1, vectors = index % kMaxVectors + 1;
  if constexpr (rows <= kMaxRows[vectors - 1]) return &conv_tile<T, rows, vectors>;
  return nullptr;
}

template <class T>
void run_tile(const ConvTile<T>& t, int64_t rows, int64_t vectors) {
  static constexpr auto table = []<int... index>(std::integer_sequence<int, index...>) {
    return std::array{conv_tile_at<T, index>()...};
  }(std::make_integer_sequence<int, kMostRows * kMaxVectors>{});
  table[(rows - 1) * kMaxVectors + vectors - 1](t);
}

// One row of outputs, at all spots: sums over k of a[p] * b[spot.at + offsets[p] + lane].
template <class T>
void conv_row(int64_t k, const T* a, const int64_t* offsets, const T* b, const std::vector<Spot>& spots, T bias, T* out) {
  constexpr int together = 4;
  const Spot *spot = spots.data(), *end = spot + spots.size();
  auto step = [&]<int n>(std::integral_constant<int, n>) __attribute__((always_inline)) {
    Vec<T> sum[n];
    const T* from[n];
    for (int j = 0; j < n; ++j) sum[j] = broadcast(bias), from[j] = b + spot[j].at;
    for (int64_t p = 0; p < k; ++p) {
      const Vec<T> x = broadcast<T>(a[p]);
      const int64_t at = offsets[p];
#pragma GCC unroll 4
      for (int j = 0; j < n; ++j) sum[j] = fma(x, load(from[j] + at), sum[j]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < n; ++j) put<T>(out + spot[j].first, sum[j], spot[j]);
    spot += n;
  };
  while (end - spot >= together) step(std::integral_constant<int, together>());
  while (spot < end) step(std::integral_constant<int, 1>());
}

// Vectors that cover every output once, from the first on; those that hit padding between lines skip it.
template <class T>
std::vector<Spot> cover(const Planes<T>& planes, const Axis (&axes)[3], int64_t readable) {
  std::vector<Spot> spots;
  const int64_t n0 = axes[0].out, n1 = axes[1].out, n2 = axes[2].out;
  int64_t o0 = 0, o1 = 0, o2 = 0, next = 0;
  while (o0 < n0) {
    const int64_t at = std::min(planes.position(o0, o1, o2), readable - kLanes<T>);
    Spot spot{at, next, 0, 0};
    while (o0 < n0) {
      const int64_t lane = planes.position(o0, o1, o2) - at;
      if (lane >= kLanes<T>) break;
      const int64_t run = std::min(kLanes<T> - lane, n2 - o2);
      spot.lanes |= ((1u << run) - 1u) << lane;
      spot.count += static_cast<int>(run);
      o2 += run;
      if (o2 == n2) o2 = 0, ++o1;
      if (o1 == n1) o1 = 0, ++o0;
    }
    next += spot.count;
    spots.push_back(spot);
  }
  return spots;
}

// ----- Correlation -----

// y[n, g r, first + o * every] = bias[g r] + sum over channels c and taps of w * x[n, g c, o * step + low + offset].
template <class T>
struct Correlation {
  int64_t batch, groups, channels, rows;  // read and made, of one group
  Axis axes[3];
  const T* x;
  const T* w;  // (g, r, c, tap) at g * w_group + r * w_row + c * w_channel + tap
  int64_t w_group, w_row, w_channel;
  int64_t kernel[3];
  const T* bias;
  T* y;
  int64_t y_size[3], first[3], every[3];

  int64_t taps() const { return static_cast<int64_t>(axes[0].taps.size() * axes[1].taps.size() * axes[2].taps.size()); }
  int64_t outputs() const { return axes[0].out * axes[1].out * axes[2].out; }
  bool dense() const { return every[0] * every[1] * every[2] == 1; }
};

template <class T>
thread_local Scratch<T> packed_weights;
template <class T>
thread_local Scratch<T> copied_planes;
template <class T>
thread_local Scratch<T> dense_outputs;

// Weights of each tile of `height` rows: step p of k, (channel, tap), at p * height.
template <class T>
void pack_weights(const Correlation<T>& x, int64_t height, T* dst) {
  std::vector<int64_t> taps;
  for (const Tap& a : x.axes[0].taps)
    for (const Tap& b : x.axes[1].taps)
      for (const Tap& c : x.axes[2].taps) taps.push_back((a.index * x.kernel[1] + b.index) * x.kernel[2] + c.index);
  const int64_t count = static_cast<int64_t>(taps.size()), k = count * x.channels, tiles = ceil_div(x.rows, height);
  const bool whole = count == x.kernel[0] * x.kernel[1] * x.kernel[2] && std::is_sorted(taps.begin(), taps.end());
  parallel_for(x.groups * tiles, std::max<int64_t>(1, kTaskWork / 16 / (k * height + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t row = t % tiles * height, filled = std::min(height, x.rows - row);
      const T* src = x.w + t / tiles * x.w_group + row * x.w_row;
      T* panel = dst + t * k * height;
      if (whole && x.w_channel == count) {
        pack(src, x.w_row, 1, filled, k, panel, height);
        continue;
      }
      for (int64_t c = 0; c < x.channels; ++c, src += x.w_channel, panel += count * height) {
        if (whole) {
          pack(src, x.w_row, 1, filled, count, panel, height);
          continue;
        }
        for (int64_t p = 0; p < count; ++p)
          for (int64_t i = 0; i < filled; ++i) panel[p * height + i] = src[i * x.w_row + taps[p]];
      }
    }
  });
}

// How a correlation is cut into blocks: of `images` whole images; or of `groups` of one; or of `lines` outputs along
// `axis` of that.
struct Cut {
  int64_t images = 1, groups, lines, strips = 1;
  int axis = 0;

  template <class T>
  explicit Cut(const std::vector<Correlation<T>>& passes) : groups(passes[0].groups) {
    const Correlation<T>& x = *std::max_element(passes.begin(), passes.end(), [](const auto& a, const auto& b) {
      return a.taps() < b.taps();
    });
    const Planes<T> planes(x.axes, true);
    axis = x.axes[0].out > 1 ? 0 : 1;
    int64_t out = 0;
    for (const Correlation<T>& pass : passes) out = std::max(out, pass.axes[axis].out);
    lines = out;
    const int64_t group_bytes = std::max<int64_t>(1, x.channels * planes.plane() * int64_t{sizeof(T)});
    const int64_t bytes = x.groups * group_bytes;
    if (x.groups > 1 && bytes > kGroupBytes) groups = std::max<int64_t>(1, kGroupBytes / group_bytes);
    if (groups == x.groups && bytes < kBlockBytes) {
      const int64_t fair = x.batch / (4 * get_num_threads());
      images = std::clamp<int64_t>(std::min(kBlockBytes / bytes, fair), 1, x.batch);
    } else if (groups == 1 && group_bytes > kBlockBytes && !planes.in_place()) {
      lines = std::max<int64_t>(std::min<int64_t>(lines, 4), lines * kBlockBytes / group_bytes);
      lines = ceil_div(out, ceil_div(out, lines));
      strips = ceil_div(out, lines);
    }
  }
};

// Where a strip of a correlation reads and writes, for any image and group.
template <class T>
struct Layout {
  Axis axes[3];
  int64_t first[3];  // of the outputs in y
  Planes<T> planes;
  int64_t taps, depth, most_vectors;  // channels in one pass over k; vectors in a tile
  std::vector<int64_t> offsets;       // of that many channels
  std::vector<Spot> spots;

  Layout(const Correlation<T>& x, const Cut& cut, int64_t strip, int64_t vectors, bool one_tile)
      : axes{x.axes[0], x.axes[1], x.axes[2]}, first{x.first[0], x.first[1], x.first[2]}, planes(restricted(x, cut, strip), true),
        taps(x.taps()), most_vectors(vectors) {
    std::vector<int64_t> under = planes.offsets();
    const int64_t reach = under.empty() ? 0 : *std::max_element(under.begin(), under.end());
    if (planes.in_place() && planes.readable() - reach < kLanes<T>) {
      planes = Planes<T>(axes, false);
      under = planes.offsets();
    }
    spots = cover(planes, axes, planes.in_place() ? planes.readable() - reach : std::numeric_limits<int64_t>::max());
    // k is cut so that what a tile reads of the input stays in L1 for the next rows.
    constexpr int64_t line = 64 / sizeof(T);
    const int64_t lines_read = ceil_div(vectors * kLanes<T> + static_cast<int64_t>(axes[2].taps.size()), line) + 1;
    const int64_t bytes = std::max<int64_t>(1, static_cast<int64_t>(axes[0].taps.size() * axes[1].taps.size()) * lines_read * 64);
    const int64_t most = one_tile ? x.channels : std::max<int64_t>(4, kTileBytes / bytes);
    depth = std::max<int64_t>(1, ceil_div(x.channels, std::max<int64_t>(1, ceil_div(x.channels, most))));
    for (int64_t c = 0; c < std::min(depth, x.channels); ++c)
      for (int64_t tap : under) offsets.push_back(c * planes.plane() + tap);
  }

  int64_t outputs() const { return axes[0].out * axes[1].out * axes[2].out; }

 private:
  const Axis (&restricted(const Correlation<T>& x, const Cut& cut, int64_t strip))[3] {
    const int64_t line = strip * cut.lines;
    Axis& axis = axes[cut.axis];
    axis = axis.part(line, std::max<int64_t>(0, std::min(cut.lines, axis.out - line)));
    first[cut.axis] += line * x.every[cut.axis];
    return axes;
  }
};

// From dense lines to every[2]-th element of y's.
template <class T>
void spread(const Correlation<T>& x, const Layout<T>& layout, const T* src, T* dst) {
  const int64_t n = layout.axes[2].out, every = x.every[2];
  const auto& first = layout.first;
  for (int64_t a = 0; a < layout.axes[0].out; ++a)
    for (int64_t b = 0; b < layout.axes[1].out; ++b, src += n) {
      T* line = dst + ((first[0] + a * x.every[0]) * x.y_size[1] + first[1] + b * x.every[1]) * x.y_size[2] + first[2];
      if (every == 2) {
        for (int64_t c = 0; c < n; ++c) line[2 * c] = src[c];
      } else {
        for (int64_t c = 0; c < n; ++c) line[c * every] = src[c];
      }
    }
}

template <class T>
struct Block {
  const Correlation<T>& x;
  const Layout<T>& layout;
  const T* weights;
  int64_t height, vectors;
  int64_t image, images, group, groups;

  void run() const {
    const Planes<T>& planes = layout.planes;
    const int64_t in_plane = x.axes[0].in * x.axes[1].in * x.axes[2].in, channels = groups * x.channels;
    const T* source = x.x + (image * x.groups + group) * x.channels * in_plane;
    int64_t image_step = x.groups * x.channels * in_plane;
    if (!planes.in_place() && layout.taps > 0) {
      T* copy = copied_planes<T>.get(images * channels * planes.plane() + kLanes<T>);
      parallel_for(images * channels, ceil_div(1 << 14, planes.plane() + 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          planes.fill(copy + i * planes.plane(), source + i / channels * image_step + i % channels * in_plane);
      });
      source = copy;
      image_step = channels * planes.plane();
    }
    source += planes.start();

    const int64_t y_plane = x.y_size[0] * x.y_size[1] * x.y_size[2], rows = groups * x.rows, outputs = layout.outputs();
    T* y = x.y + (image * x.groups + group) * x.rows * y_plane;
    if (x.dense()) {
      y += (layout.first[0] * x.y_size[1] + layout.first[1]) * x.y_size[2] + layout.first[2];
      return multiply(source, image_step, y, x.groups * x.rows * y_plane, y_plane);
    }
    T* out = dense_outputs<T>.get(images * rows * outputs);
    multiply(source, image_step, out, rows * outputs, outputs);
    parallel_for(images * rows, ceil_div(1 << 14, outputs), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        spread(x, layout, out + i * outputs, y + i / rows * x.groups * x.rows * y_plane + i % rows * y_plane);
    });
  }

  void multiply(const T* source, int64_t image_step, T* out, int64_t out_step, int64_t out_plane) const {
    const Planes<T>& planes = layout.planes;
    const int64_t k = layout.taps * x.channels;
    if (x.rows == 1 && layout.depth >= x.channels) {
      parallel_for(images * groups, std::max<int64_t>(1, kTaskWork / (layout.outputs() * (k + 4))), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t n = i / groups, g = i % groups;
          conv_row(k, weights + (group + g) * k, layout.offsets.data(), source + n * image_step + g * x.channels * planes.plane(),
                   layout.spots, x.bias ? x.bias[group + g] : T(0), out + n * out_step + g * out_plane);
        }
      });
      return;
    }
    const int64_t per_image = static_cast<int64_t>(layout.spots.size()), total = images * per_image;
    const int64_t tiles = ceil_div(total, vectors), row_tiles = ceil_div(x.rows, height);
    const int64_t work = vectors * kLanes<T> * std::max<int64_t>(k, 16) * x.rows;
    const bool fetches = planes.in_place() && layout.taps == 1;  // x comes from memory, a little of many planes at a time
    // Where there are few vectors, the rows are shared out too.
    int64_t parts = 1;
    if (const int64_t wanted = 4 * get_num_threads(); groups * tiles < wanted && !in_parallel_region())
      parts = std::clamp<int64_t>(std::min(wanted / (groups * tiles), work / kTaskWork), 1, row_tiles);
    parallel_for(groups * tiles * parts, std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work / parts)),
                 [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t part = task % parts, g = task / parts / tiles, tile = task / parts % tiles;
        const int64_t row_begin = part * row_tiles / parts, row_end = (part + 1) * row_tiles / parts;
        ConvTile<T> t;
        const int64_t vector = tile * vectors, filled = std::min(vectors, total - vector);
        const T* b[kMaxVectors];
        T* to[kMaxVectors];
        auto place = [&](int64_t v, const Spot*& spot) {
          spot = &layout.spots[static_cast<size_t>(v % per_image)];
          return source + v / per_image * image_step + g * x.channels * planes.plane() + spot->at;
        };
        for (int64_t j = 0; j < filled; ++j) {
          b[j] = place(vector + j, t.spot[j]);
          to[j] = out + (vector + j) / per_image * out_step + g * x.rows * out_plane;
        }
        if (fetches && tile + 1 < tiles) {
          const Spot* next;
          for (int64_t j = 0; j < filled; ++j) t.ahead[j] = place(std::min(vector + vectors + j, total - 1), next);
        }
        t.a_k = height;
        t.offsets = layout.offsets.data();
        t.out_row = out_plane;
        for (int64_t c = 0; c == 0 || c < x.channels; c += layout.depth) {
          const int64_t depth = std::min(layout.depth, x.channels - c), rows = row_end - row_begin;
          t.k = depth * layout.taps;
          t.add = c > 0;
          for (int64_t j = 0; j < filled; ++j) {
            t.b[j] = b[j] + c * planes.plane();
            if (fetches && c > 0) t.ahead[j] += layout.depth * planes.plane();
          }
          for (int64_t i = row_begin; i < row_end; ++i) {
            const int64_t row = i * height;
            t.a = weights + (group + g) * row_tiles * height * k + i * height * k + c * layout.taps * height;
            t.bias = x.bias ? x.bias + (group + g) * x.rows + row : nullptr;
            for (int64_t j = 0; j < filled; ++j) t.out[j] = to[j] + row * out_plane;
            if (fetches && tile + 1 < tiles) {  // each tile fetches its share of what the next vectors read
              const int64_t from = (i - row_begin) * depth / rows;
              t.ahead_offsets = layout.offsets.data() + from;
              t.ahead_count = (i - row_begin + 1) * depth / rows - from;
            }
            run_tile(t, std::min(height, x.rows - row), filled);
          }
        }
      }
    });
  }
};

// Correlations of the same planes with the same output; they differ in taps and in which outputs they make.
template <class T>
void correlate(const std::vector<Correlation<T>>& passes) {
  const Correlation<T>& x = passes[0];
  if (x.batch == 0 || x.groups == 0 || x.rows == 0 || x.outputs() == 0) return;
  // Wide and flat tiles for few rows, or else as high as the registers allow, and all about equally high.
  constexpr int most = kVectorBytes == 64 ? 3 : 2;
  const int64_t vectors = x.rows <= kMaxRows[kMaxVectors - 1] ? kMaxVectors : most;
  const int64_t height = ceil_div(x.rows, ceil_div(x.rows, kMaxRows[vectors - 1]));
  const int64_t padded_rows = ceil_div(x.rows, height) * height;

  const Cut cut(passes);
  int64_t weights_size = 0, work = 0;
  for (const Correlation<T>& pass : passes) {
    weights_size += x.groups * padded_rows * x.channels * pass.taps();
    work += x.batch * x.groups * x.rows * pass.outputs() * std::max<int64_t>(1, x.channels * pass.taps());
  }
  T* packed = packed_weights<T>.get(weights_size);
  std::vector<Layout<T>> layouts;
  std::vector<const T*> weights;
  for (const Correlation<T>& pass : passes) {
    weights.push_back(packed);
    pack_weights(pass, height, packed);
    packed += x.groups * padded_rows * x.channels * pass.taps();
    for (int64_t strip = 0; strip < cut.strips; ++strip) layouts.emplace_back(pass, cut, strip, vectors, x.rows <= height);
  }

  const int64_t group_blocks = ceil_div(x.groups, cut.groups), blocks = ceil_div(x.batch, cut.images) * group_blocks * cut.strips;
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t strip = i % cut.strips, group = i / cut.strips % group_blocks * cut.groups;
      const int64_t image = i / cut.strips / group_blocks * cut.images;
      for (size_t pass = 0; pass < passes.size(); ++pass) {
        const Layout<T>& layout = layouts[pass * static_cast<size_t>(cut.strips) + static_cast<size_t>(strip)];
        if (layout.outputs() > 0)
          Block<T>{passes[pass], layout, weights[pass], height, vectors, image, std::min(cut.images, x.batch - image), group,
                   std::min(cut.groups, x.groups - group)}.run();
      }
    }
  };
  if (blocks < 2 * get_num_threads()) return run(0, blocks);
  parallel_for(blocks, std::max<int64_t>(1, blocks * kTaskWork / std::max<int64_t>(1, work)), run);
}

Axis forward_axis(const ConvShape& s, int d) {
  Axis axis{s.in[d], s.out[d], s.stride[d], -s.padding[d], {}};
  for (int64_t t = 0; t < s.kernel[d]; ++t) axis.taps.push_back({t, t * s.dilation[d]});
  return axis;
}

template <class T>
void forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  const int64_t taps = s.taps();
  correlate<T>({{s.batch, s.groups, s.in_channels, s.out_channels,
                {forward_axis(s, 0), forward_axis(s, 1), forward_axis(s, 2)}, x, w,
                s.out_channels * s.in_channels * taps, s.in_channels * taps, taps,
                {s.kernel[0], s.kernel[1], s.kernel[2]}, bias, y, {s.out[0], s.out[1], s.out[2]}, {0, 0, 0}, {1, 1, 1}}});
}

// Inputs i whose i + padding has a given residue modulo the stride: i is reached by the taps of that residue, from
// outputs that move by one when i moves by one stride.
struct Residue {
  Axis axis;
  int64_t first;
};
Residue residue_axis(const ConvShape& s, int d, int64_t residue) {
  const int64_t stride = s.stride[d], padding = s.padding[d];
  const int64_t first = ((residue - padding) % stride + stride) % stride;
  Axis axis{s.out[d], first < s.in[d] ? (s.in[d] - 1 - first) / stride + 1 : 0, 1, (first + padding - residue) / stride, {}};
  for (int64_t t = 0; t < s.kernel[d]; ++t)
    if (t * s.dilation[d] % stride == residue) axis.taps.push_back({t, t * s.dilation[d] / stride});
  if (!axis.taps.empty()) {
    const int64_t most = axis.taps.back().offset;
    axis.low -= most;
    for (Tap& tap : axis.taps) tap.offset = most - tap.offset;
  }
  return {axis, first};
}

template <class T>
void input(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  const int64_t taps = s.taps();
  std::vector<Correlation<T>> passes;
  for (int64_t r0 = 0; r0 < s.stride[0]; ++r0)
    for (int64_t r1 = 0; r1 < s.stride[1]; ++r1)
      for (int64_t r2 = 0; r2 < s.stride[2]; ++r2) {
        const Residue a = residue_axis(s, 0, r0), b = residue_axis(s, 1, r1), c = residue_axis(s, 2, r2);
        if (a.axis.out == 0 || b.axis.out == 0 || c.axis.out == 0) continue;
        passes.push_back({s.batch, s.groups, s.out_channels, s.in_channels, {a.axis, b.axis, c.axis}, dy, w,
                          s.out_channels * s.in_channels * taps, taps, s.in_channels * taps,
                          {s.kernel[0], s.kernel[1], s.kernel[2]}, bias, dx, {s.in[0], s.in[1], s.in[2]},
                          {a.first, b.first, c.first}, {s.stride[0], s.stride[1], s.stride[2]}});
      }
  if (!passes.empty()) correlate(passes);
}

}  // namespace

void conv_forward(DType dtype, const ConvShape& shape, const void* x, const void* w, const void* bias, void* y) {
  if (dtype == DType::Float32)
    forward<float>(shape, static_cast<const float*>(x), static_cast<const float*>(w), static_cast<const float*>(bias),
                   static_cast<float*>(y));
  else
    forward<double>(shape, static_cast<const double*>(x), static_cast<const double*>(w),
                    static_cast<const double*>(bias), static_cast<double*>(y));
}

void conv_input(DType dtype, const ConvShape& shape, const void* dy, const void* w, const void* bias, void* dx) {
  if (dtype == DType::Float32)
    input<float>(shape, static_cast<const float*>(dy), static_cast<const float*>(w), static_cast<const float*>(bias),
                 static_cast<float*>(dx));
  else
    input<double>(shape, static_cast<const double*>(dy), static_cast<const double*>(w),
                  static_cast<const double*>(bias), static_cast<double*>(dx));
}

GENESIS_KERNEL(conv_forward)
GENESIS_KERNEL(conv_input)

}  // namespace genesis::kernels::GENESIS_ISA
