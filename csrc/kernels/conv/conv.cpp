// Convolution as a matrix product whose right-hand side is not stored.
//
// correlate() implements it. The forward map is one correlation; its transpose is one correlation for each residue of
// the output position modulo the stride. The planes of a block (images, or groups or lines of an image) are copied
// once, with their padding, into a grid that stays in the cache (conv/planes.h). In the grid, 16 consecutive outputs
// read 16 consecutive inputs for any tap. A register tile of a few channels by a few such vectors runs over k =
// (channel, tap) like the tile of a matrix product: it broadcasts packed weights and finds the row of its right-hand
// side with a table of offsets. A vector may extend past the end of a line into the padding; those lanes are not
// stored.
//
// With many output channels, the right-hand side is gathered from the grid after all, a few panels at a time, and the
// tiles of the matrix product are used (conv/panels.h). They read the panels repeatedly, aligned and without unused
// lanes.
//
// For 3 x 3 taps, conv/winograd.h needs fewer multiplications; depthwise convolutions with stride 1 need no grid
// (conv/depthwise.h). Both are for float32 only.
//
// The terms of an output are always summed in the same order, for any block, tile or thread.
#include "kernels/conv/conv.h"

#include "core/parallel.h"
#include "kernels/conv/columns.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/panels.h"
#include "kernels/conv/winograd.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// Copies dense lines to every every[2]-th element of the lines of y.
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
  int64_t height;
  bool panels;
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
    if (x.rows == 1) {
      parallel_for(images * groups, std::max<int64_t>(1, kTaskWork / (layout.outputs() * (k + 4))),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       const int64_t n = i / groups, g = i % groups;
                       conv_row(k, weights + (group + g) * k, layout.offsets.data(),
                                source + n * image_step + g * x.channels * planes.plane(), layout.spots,
                                x.bias ? x.bias[group + g] : T(0), out + n * out_step + g * out_plane);
                     }
                   });
      return;
    }
    if (panels)
      return PanelProduct<T>{.x = x,
                             .layout = layout,
                             .weights = weights,
                             .height = height,
                             .group = group,
                             .groups = groups,
                             .images = images,
                             .source = source,
                             .image_step = image_step,
                             .out = out,
                             .out_step = out_step,
                             .out_plane = out_plane}
          .run();
    const int64_t per_image = static_cast<int64_t>(layout.spots.size()), total = images * per_image;
    const int64_t tiles = ceil_div(total, kMaxVectors),
                  work = kMaxVectors * kLanes<T> * std::max<int64_t>(k, 16) * x.rows;
    parallel_for(groups * tiles, std::max<int64_t>(1, kTaskWork / work), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t g = task / tiles, vector = task % tiles * kMaxVectors;
        rows_of(g, source + g * x.channels * planes.plane(), image_step, out + g * x.rows * out_plane, out_step,
                out_plane, vector, std::min<int64_t>(kMaxVectors, total - vector));
      }
    });
  }

  // Computes all rows of a few vectors, so that their inputs stay in L1.
  void rows_of(int64_t g, const T* source, int64_t image_step, T* out, int64_t out_step, int64_t out_plane,
               int64_t vector, int64_t filled) const {
    const int64_t k = layout.taps * x.channels, row_tiles = ceil_div(x.rows, height);
    const int64_t per_image = static_cast<int64_t>(layout.spots.size());
    ConvTile<T> t{.k = 0,
                  .filled = filled,
                  .a = nullptr,
                  .a_k = height,
                  .offsets = layout.offsets.data(),
                  .b = {},
                  .spot = {},
                  .out = {},
                  .out_row = out_plane,
                  .bias = nullptr,
                  .add = false};
    const T* b[kMaxVectors];
    T* to[kMaxVectors];
    for (int64_t j = 0; j < kMaxVectors; ++j) {
      const int64_t at = vector + std::min(j, filled - 1), n = at / per_image;
      t.spot[j] = &layout.spots[static_cast<size_t>(at % per_image)];
      b[j] = source + n * image_step + t.spot[j]->at;
      to[j] = out + n * out_step;
    }
    for (int64_t c = 0; c == 0 || c < x.channels; c += layout.depth) {
      t.k = std::min(layout.depth, x.channels - c) * layout.taps;
      t.add = c > 0;
      for (int64_t j = 0; j < kMaxVectors; ++j) t.b[j] = b[j] + c * layout.planes.plane();
      for (int64_t row = 0; row < x.rows; row += height) {
        t.a = weights + ((group + g) * row_tiles * height + row) * k + c * layout.taps * height;
        t.bias = x.bias ? x.bias + (group + g) * x.rows + row : nullptr;
        for (int64_t j = 0; j < filled; ++j) t.out[j] = to[j] + row * out_plane;
        run_tile(t, std::min(height, x.rows - row));
      }
    }
  }
};

// Runs correlations of the same planes into the same output. They differ in the taps and in the outputs that they
// compute.
template <class T>
void correlate(const std::vector<Correlation<T>>& passes) {
  const Correlation<T>& x = passes[0];
  if (x.batch == 0 || x.groups == 0 || x.rows == 0 || x.outputs() == 0) return;
  if (passes.size() == 1 && plain(x)) return multiply_images(x);
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (kFastMasks)
      if (passes.size() == 1 && Depthwise<T>::suits(x)) return Depthwise<T>(x).run();
    if (passes.size() == 1 && Winograd::suits(x) && Winograd(x).run()) return;
  }
  // Tiles are as high as the registers allow, and of about equal height.
  const bool panels = x.rows > kFewRows;
  const int64_t highest = panels ? kMaxRows[kPanelVectors - 1] : kTileRows;
  const int64_t height = ceil_div(x.rows, ceil_div(x.rows, highest));
  const int64_t padded_rows = ceil_div(x.rows, height) * height;

  const Cut cut(passes);
  auto size_of = [&](const Correlation<T>& pass) {
    return x.groups * padded_rows * (x.channels * pass.taps() + (panels && x.bias ? 1 : 0));
  };
  int64_t weights_size = 0, work = 0;
  for (const Correlation<T>& pass : passes) {
    weights_size += size_of(pass);
    work += x.batch * x.groups * x.rows * pass.outputs() * std::max<int64_t>(1, x.channels * pass.taps());
  }
  T* packed = packed_weights<T>.get(weights_size);
  std::vector<Layout<T>> layouts;
  std::vector<const T*> weights;
  for (const Correlation<T>& pass : passes) {
    weights.push_back(packed);
    pack_weights(pass, height, panels, packed);
    packed += size_of(pass);
    for (int64_t strip = 0; strip < cut.strips; ++strip) layouts.emplace_back(pass, cut, strip, panels);
  }

  const int64_t group_blocks = ceil_div(x.groups, cut.groups),
                blocks = ceil_div(x.batch, cut.images) * group_blocks * cut.strips;
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t strip = i % cut.strips, group = i / cut.strips % group_blocks * cut.groups;
      const int64_t image = i / cut.strips / group_blocks * cut.images;
      for (size_t pass = 0; pass < passes.size(); ++pass) {
        const Layout<T>& layout = layouts[pass * static_cast<size_t>(cut.strips) + static_cast<size_t>(strip)];
        if (layout.outputs() > 0)
          Block<T>{passes[pass],
                   layout,
                   weights[pass],
                   height,
                   panels,
                   image,
                   std::min(cut.images, x.batch - image),
                   group,
                   std::min(cut.groups, x.groups - group)}
              .run();
      }
    }
  };
  if (blocks < 2 * get_num_threads()) return run(0, blocks);
  parallel_for(blocks, std::max<int64_t>(1, blocks * kTaskWork / std::max<int64_t>(1, work)), run);
}

template <class T>
void forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  const int64_t taps = s.taps();
  correlate<T>({{s.batch,
                 s.groups,
                 s.in_channels,
                 s.out_channels,
                 {forward_axis(s, 0), forward_axis(s, 1), forward_axis(s, 2)},
                 x,
                 w,
                 s.out_channels * s.in_channels * taps,
                 s.in_channels * taps,
                 taps,
                 {s.kernel[0], s.kernel[1], s.kernel[2]},
                 bias,
                 y,
                 {s.out[0], s.out[1], s.out[2]},
                 {0, 0, 0},
                 {1, 1, 1}}});
}

template <class T>
void input(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  const int64_t taps = s.taps();
  const double strides =
      static_cast<double>(s.stride[0]) * static_cast<double>(s.stride[1]) * static_cast<double>(s.stride[2]);
  if (s.out_channels >= 8 && s.out_size() > 0 &&
      static_cast<double>(s.in_size()) >= 2 * strides * static_cast<double>(s.out_size()))
    return add_columns(s, dy, w, bias, dx);
  const std::vector<int64_t> met[] = {met_residues(s, 0), met_residues(s, 1), met_residues(s, 2)};
  if (!all_met(s, met))  // outputs without a tap are the bias
    for (int64_t plane = 0; plane < s.batch * s.groups * s.in_channels; ++plane)
      std::fill_n(dx + plane * s.in_size(), s.in_size(), bias ? bias[plane % (s.groups * s.in_channels)] : T(0));
  std::vector<Correlation<T>> passes;
  for (const int64_t r0 : met[0])
    for (const int64_t r1 : met[1])
      for (const int64_t r2 : met[2]) {
        const Residue a = residue_axis(s, 0, r0), b = residue_axis(s, 1, r1), c = residue_axis(s, 2, r2);
        if (a.axis.out == 0 || b.axis.out == 0 || c.axis.out == 0) continue;
        passes.push_back({s.batch,
                          s.groups,
                          s.out_channels,
                          s.in_channels,
                          {a.axis, b.axis, c.axis},
                          dy,
                          w,
                          s.out_channels * s.in_channels * taps,
                          taps,
                          s.in_channels * taps,
                          {s.kernel[0], s.kernel[1], s.kernel[2]},
                          bias,
                          dx,
                          {s.in[0], s.in[1], s.in[2]},
                          {a.first, b.first, c.first},
                          {s.stride[0], s.stride[1], s.stride[2]}});
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
