// Convolution as a matrix product whose right-hand side is never stored.
//
// correlate() is the whole of it; the forward map is one correlation, its transpose one for each residue of the output
// position modulo the stride. Of a block of images (or of rows of an image), the planes are copied once into a grid with
// the padding in it (conv_planes.h), small enough to stay in L2. There, 16 neighbouring outputs of any image read 16
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
};

template <class T, int rows, int vectors>
void conv_tile(const ConvTile<T>& t) {
  Vec<T> sum[rows][vectors] = {};
  const T* b[vectors];
  for (int j = 0; j < vectors; ++j) b[j] = t.b[j];
  const T* a = t.a;
  const int64_t a_k = t.a_k;
  for (const int64_t *offset = t.offsets, *end = offset + t.k; offset < end; ++offset, a += a_k) {
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

// How a correlation is cut: into blocks of `images` whole images, or of `lines` outputs along `axis` of one.
struct Cut {
  int64_t images = 1, lines = 0, strips = 1;
  int axis = 0;

  template <class T>
  explicit Cut(const Correlation<T>& x) {
    const Planes<T> planes(x.axes, true);
    axis = x.axes[0].out > 1 ? 0 : 1;
    lines = x.axes[axis].out;
    const int64_t bytes = std::max<int64_t>(1, x.groups * x.channels * planes.plane() * int64_t{sizeof(T)});
    const int64_t threads = get_num_threads();
    if (bytes < kBlockBytes) {
      images = std::clamp<int64_t>(std::min(kBlockBytes / bytes, x.batch / (4 * threads)), 1, x.batch);
    } else if (!planes.in_place()) {
      lines = std::max<int64_t>(std::min<int64_t>(lines, 4), lines * kBlockBytes / bytes);
      strips = ceil_div(x.axes[axis].out, lines);
      lines = ceil_div(x.axes[axis].out, strips);
      strips = ceil_div(x.axes[axis].out, lines);
    }
  }
};

// From dense lines to every[2]-th element of y's.
template <class T>
void spread(const Correlation<T>& x, const Axis (&axes)[3], const int64_t (&first)[3], const T* src, T* dst) {
  const int64_t n = axes[2].out, every = x.every[2];
  for (int64_t a = 0; a < axes[0].out; ++a)
    for (int64_t b = 0; b < axes[1].out; ++b, src += n) {
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
  const T* weights;
  int64_t height, vectors;
  int64_t image, images;
  Axis axes[3];
  int64_t first[3];  // of the outputs in y

  void run() const {
    Planes<T> planes(axes, true);
    std::vector<int64_t> taps = planes.offsets();
    const int64_t reach = taps.empty() ? 0 : *std::max_element(taps.begin(), taps.end());
    if (planes.in_place() && planes.readable() - reach < kLanes<T>) {
      planes = Planes<T>(axes, false);
      taps = planes.offsets();
    }
    const int64_t all_channels = x.groups * x.channels, in_plane = axes[0].in * axes[1].in * axes[2].in;
    const T* source = x.x + image * all_channels * in_plane;
    if (!planes.in_place() && !taps.empty()) {
      T* copy = copied_planes<T>.get(images * all_channels * planes.plane() + kLanes<T>);
      parallel_for(images * all_channels, ceil_div(1 << 14, planes.plane() + 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) planes.fill(copy + i * planes.plane(), source + i * in_plane);
      });
      source = copy;
    }
    const std::vector<Spot> spots =
        cover(planes, axes, planes.in_place() ? planes.readable() - reach : std::numeric_limits<int64_t>::max());

    const int64_t all_rows = x.groups * x.rows, y_plane = x.y_size[0] * x.y_size[1] * x.y_size[2];
    const int64_t outputs = axes[0].out * axes[1].out * axes[2].out;
    if (x.dense()) {
      T* out = x.y + image * all_rows * y_plane + (first[0] * x.y_size[1] + first[1]) * x.y_size[2] + first[2];
      return multiply(planes, taps, spots, source + planes.start(), out, y_plane);
    }
    T* out = dense_outputs<T>.get(images * all_rows * outputs);
    multiply(planes, taps, spots, source + planes.start(), out, outputs);
    parallel_for(images * all_rows, ceil_div(1 << 14, outputs), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        spread(x, axes, first, out + i * outputs, x.y + (image * all_rows + i) * y_plane);
    });
  }

  void multiply(const Planes<T>& planes, const std::vector<int64_t>& taps, const std::vector<Spot>& spots,
                const T* source, T* out, int64_t out_plane) const {
    constexpr int64_t line = 64 / sizeof(T);
    const int64_t count = static_cast<int64_t>(taps.size()), k = count * x.channels;
    const int64_t per_image = static_cast<int64_t>(spots.size()), total = images * per_image;
    const int64_t tiles = ceil_div(total, vectors), row_tiles = ceil_div(x.rows, height);
    // k is cut so that what a tile reads of the input stays in L1 for the next rows.
    const int64_t lines_read = ceil_div(vectors * kLanes<T> + static_cast<int64_t>(axes[2].taps.size()), line) + 1;
    const int64_t channel_bytes = static_cast<int64_t>(axes[0].taps.size() * axes[1].taps.size()) * lines_read * 64;
    const int64_t most = row_tiles == 1 ? x.channels : std::max<int64_t>(4, kTileBytes / std::max<int64_t>(1, channel_bytes));
    const int64_t depth = std::max<int64_t>(1, ceil_div(x.channels, std::max<int64_t>(1, ceil_div(x.channels, most))));
    std::vector<int64_t> offsets;
    for (int64_t c = 0; c < std::min(depth, x.channels); ++c)
      for (int64_t tap : taps) offsets.push_back(c * planes.plane() + tap);

    const int64_t work = vectors * kLanes<T> * std::max<int64_t>(k, 16) * x.rows;
    // Where there are few vectors, the rows are shared out too.
    int64_t parts = 1;
    if (const int64_t wanted = 4 * get_num_threads(); x.groups * tiles < wanted && !in_parallel_region())
      parts = std::clamp<int64_t>(std::min(wanted / (x.groups * tiles), work / kTaskWork), 1, row_tiles);
    parallel_for(x.groups * tiles * parts, std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work / parts)),
                 [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t part = task % parts, g = task / parts / tiles, tile = task / parts % tiles;
        const int64_t row_begin = part * row_tiles / parts, row_end = (part + 1) * row_tiles / parts;
        ConvTile<T> t;
        const int64_t vector = tile * vectors, filled = std::min(vectors, total - vector);
        const T* b[kMaxVectors];
        T* to[kMaxVectors];
        for (int64_t j = 0; j < filled; ++j) {
          const int64_t n = (vector + j) / per_image;
          t.spot[j] = &spots[static_cast<size_t>((vector + j) % per_image)];
          b[j] = source + (n * x.groups + g) * x.channels * planes.plane() + t.spot[j]->at;
          to[j] = out + (n * x.groups + g) * x.rows * out_plane;
        }
        t.a_k = height;
        t.offsets = offsets.data();
        t.out_row = out_plane;
        for (int64_t c = 0; c == 0 || c < x.channels; c += depth) {
          t.k = std::min(depth, x.channels - c) * count;
          t.add = c > 0;
          for (int64_t j = 0; j < filled; ++j) t.b[j] = b[j] + c * planes.plane();
          for (int64_t i = row_begin; i < row_end; ++i) {
            const int64_t row = i * height;
            t.a = weights + (g * row_tiles + i) * height * k + c * count * height;
            t.bias = x.bias ? x.bias + g * x.rows + row : nullptr;
            for (int64_t j = 0; j < filled; ++j) t.out[j] = to[j] + row * out_plane;
            run_tile(t, std::min(height, x.rows - row), filled);
          }
        }
      }
    });
  }
};

template <class T>
void correlate(const Correlation<T>& x) {
  if (x.batch == 0 || x.groups == 0 || x.rows == 0 || x.outputs() == 0) return;
  // Wide and flat tiles for few rows, or else as high as the registers allow, and all about equally high.
  constexpr int most = kVectorBytes == 64 ? 3 : 2;
  const int64_t vectors = x.rows <= kMaxRows[kMaxVectors - 1] ? kMaxVectors : most;
  const int64_t height = ceil_div(x.rows, ceil_div(x.rows, kMaxRows[vectors - 1]));
  T* weights = packed_weights<T>.get(x.groups * ceil_div(x.rows, height) * height * x.channels * x.taps());
  pack_weights(x, height, weights);

  const Cut cut(x);
  const int64_t blocks = ceil_div(x.batch, cut.images) * cut.strips;
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / cut.strips * cut.images, line = i % cut.strips * cut.lines;
      Block<T> block{x, weights, height, vectors, image, std::min(cut.images, x.batch - image), {x.axes[0], x.axes[1], x.axes[2]},
                     {x.first[0], x.first[1], x.first[2]}};
      Axis& axis = block.axes[cut.axis];
      axis = axis.part(line, std::min(cut.lines, axis.out - line));
      block.first[cut.axis] += line * x.every[cut.axis];
      block.run();
    }
  };
  const int64_t work = x.batch * x.groups * x.rows * x.outputs() * std::max<int64_t>(1, x.channels * x.taps());
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
  correlate<T>({s.batch, s.groups, s.in_channels, s.out_channels,
                {forward_axis(s, 0), forward_axis(s, 1), forward_axis(s, 2)}, x, w,
                s.out_channels * s.in_channels * taps, s.in_channels * taps, taps,
                {s.kernel[0], s.kernel[1], s.kernel[2]}, bias, y, {s.out[0], s.out[1], s.out[2]}, {0, 0, 0}, {1, 1, 1}});
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
  for (int64_t r0 = 0; r0 < s.stride[0]; ++r0)
    for (int64_t r1 = 0; r1 < s.stride[1]; ++r1)
      for (int64_t r2 = 0; r2 < s.stride[2]; ++r2) {
        const Residue a = residue_axis(s, 0, r0), b = residue_axis(s, 1, r1), c = residue_axis(s, 2, r2);
        correlate<T>({s.batch, s.groups, s.out_channels, s.in_channels, {a.axis, b.axis, c.axis}, dy, w,
                      s.out_channels * s.in_channels * taps, taps, s.in_channels * taps,
                      {s.kernel[0], s.kernel[1], s.kernel[2]}, bias, dx, {s.in[0], s.in[1], s.in[2]},
                      {a.first, b.first, c.first}, {s.stride[0], s.stride[1], s.stride[2]}});
      }
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
