// Convolutions that are computed with the matrix product of gemm.h.
#pragma once

#include "kernels/conv/conv.h"
#include "kernels/conv/correlation.h"
#include "kernels/gemm/gemm.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kColumnBytes = 2 << 20;  // size of the columns of small images that are stored at a time

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, GemmMatrix<T> a, GemmMatrix<T> b, T* c) {
  if constexpr (sizeof(T) == 4) sgemm(m, n, k, 1, a, b, 0, {}, c, n, 1);
  else dgemm(m, n, k, 1, a, b, 0, {}, c, n, 1);
}

// Whether each output reads only the input at its own position, and there are too few rows to make gathering the input
// worthwhile: with few channels, it is faster to read it in place.
template <class T>
bool plain(const Correlation<T>& x) {
  const int64_t few = x.channels <= 64 ? 64 : 32;
  bool same = x.taps() == 1 && x.dense() && x.rows > 1 && x.rows <= few && x.outputs() >= 4 * kLanes<T>;
  for (const Axis& axis : x.axes) same = same && axis.low == 0 && axis.step == 1 && axis.in == axis.out;
  return same;
}

template <class T>
void multiply_images(const Correlation<T>& x) {
  const int64_t size = x.outputs(),
                tap = (x.axes[0].taps[0].index * x.kernel[1] + x.axes[1].taps[0].index) * x.kernel[2];
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t g = i % x.groups;
      T* y = x.y + i * x.rows * size;
      gemm<T>(x.rows, size, x.channels, {x.w + g * x.w_group + tap + x.axes[2].taps[0].index, x.w_row, x.w_channel},
              {x.x + i * x.channels * size, size, 1}, y);
      for (int64_t row = 0; row < (x.bias ? x.rows : 0); ++row) {
        const T bias = x.bias[g * x.rows + row];
        for (int64_t o = 0; o < size; ++o) y[row * size + o] += bias;
      }
    }
  };
  // With few images, the matrix product itself is parallelized.
  const int64_t images = x.batch * x.groups;
  if (images < 2 * get_num_threads()) run(0, images);
  else parallel_for(images, std::max<int64_t>(1, kTaskWork / (x.rows * size * std::max<int64_t>(1, x.channels))), run);
}

// For outputs that are few compared to the inputs they read, where most taps of most inputs fall into the padding:
// multiplies the weights by dy, with one column per output, and adds the columns at the positions of the taps.
template <class T>
void add_columns(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  const int64_t taps = s.taps(), k = s.in_channels * taps, in_size = s.in_size(), out_size = s.out_size();
  const int64_t images = std::clamp<int64_t>(kColumnBytes / (k * out_size * int64_t{sizeof(T)}), 1, s.batch);
  T* columns = dense_outputs<T>.get((k + s.out_channels) * images * out_size);
  for (int64_t g = 0; g < s.groups; ++g)
    for (int64_t first = 0; first < s.batch; first += images) {
      const int64_t here = std::min(images, s.batch - first), n = here * out_size;
      T* gathered = columns + k * n;
      for (int64_t i = 0; i < here; ++i)
        for (int64_t m = 0; m < s.out_channels; ++m)
          copy_run(gathered + m * n + i * out_size, dy + (((first + i) * s.groups + g) * s.out_channels + m) * out_size,
                   out_size);
      gemm<T>(k, n, s.out_channels, {w + g * s.out_channels * k, 1, k}, {gathered, n, 1}, columns);
      parallel_for(here * s.in_channels, (1 << 14) / (taps * out_size) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t image = i / s.in_channels, c = i % s.in_channels;
          T* plane = dx + (((first + image) * s.groups + g) * s.in_channels + c) * in_size;
          std::fill_n(plane, in_size, bias ? bias[g * s.in_channels + c] : T(0));
          for (int64_t t = 0; t < taps; ++t) {
            const T* from = columns + (c * taps + t) * n + image * out_size;
            for (int64_t o = 0; o < out_size; ++o)
              if (const int64_t to = s.input_of(o, t); to >= 0) plane[to] += from[o];
          }
        }
      });
    }
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
