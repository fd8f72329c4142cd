// One sum over channels and taps for conv.cpp: its inputs, its outputs, and its weights packed for the tiles.
#pragma once

#include "core/parallel.h"
#include "kernels/conv/tiles.h"
#include "kernels/scratch.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// y[n, g r, first + o * every] = bias[g r] + sum over channels c and taps of w * x[n, g c, o * step + low + offset].
template <class T>
struct Correlation {
  int64_t batch, groups, channels, rows;  // input and output channels of one group
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
const Scratch<T> packed_weights;
template <class T>
const Scratch<T> copied_planes;
template <class T>
const Scratch<T> dense_outputs;

// Packs the weights of each tile of `height` rows: step p of k, which is (channel, tap), is at p * height. With
// `with_bias`, the bias, if any, is an additional step.
template <class T>
void pack_weights(const Correlation<T>& x, int64_t height, bool with_bias, T* dst) {
  std::vector<int64_t> taps;
  for (const Tap& a : x.axes[0].taps)
    for (const Tap& b : x.axes[1].taps)
      for (const Tap& c : x.axes[2].taps) taps.push_back((a.index * x.kernel[1] + b.index) * x.kernel[2] + c.index);
  const int64_t count = static_cast<int64_t>(taps.size()), k = count * x.channels, tiles = ceil_div(x.rows, height);
  const bool biased = with_bias && x.bias;
  const bool whole = count == x.kernel[0] * x.kernel[1] * x.kernel[2] && std::is_sorted(taps.begin(), taps.end());
  parallel_for(x.groups * tiles, std::max<int64_t>(1, kTaskWork / 16 / (k * height + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t row = t % tiles * height, filled = std::min(height, x.rows - row);
                   const T* src = x.w + t / tiles * x.w_group + row * x.w_row;
                   T* panel = dst + t * (k + biased) * height;
                   if (biased) std::copy_n(x.bias + t / tiles * x.rows + row, filled, panel + k * height);
                   if (whole && x.w_channel == count) {
                     pack(src, x.w_row, 1, filled, k, panel, height);
                     continue;
                   }
                   if (whole && count == 1) {
                     pack(src, x.w_row, x.w_channel, filled, k, panel, height);
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

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
