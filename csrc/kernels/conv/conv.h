// Convolutions over three spatial dimensions, of which missing ones have size 1, for float32 and float64 in contiguous
// memory. Results are bitwise identical for any number of threads.
//
// With w of shape (groups * out_channels, in_channels, kernel) and channels counted within a group,
//   y[n, g m, o] = bias[g m] + sum over c, t of w[g m, c, t] * x[n, g c, o * stride - padding + t * dilation],
// where x is zero outside its bounds. conv_input and conv_weight are the transposes of that map for fixed w and for
// fixed x.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

struct ConvShape {
  int64_t batch, groups, in_channels, out_channels;  // channels of one group
  int64_t in[3] = {}, out[3] = {}, kernel[3] = {}, stride[3] = {}, padding[3] = {}, dilation[3] = {};

  template <class A>
  void arguments(A&) {}  // only numbers

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  // The input that an output reads with a tap, or -1 in the padding.
  int64_t input_of(int64_t output, int64_t tap) const {
    const int64_t o[] = {output / out[2] / out[1], output / out[2] % out[1], output % out[2]};
    const int64_t t[] = {tap / kernel[2] / kernel[1], tap / kernel[2] % kernel[1], tap % kernel[2]};
    int64_t input = 0;
    for (int d = 0; d < 3; ++d) {
      const int64_t at = input_along(d, o[d], t[d]);
      if (at < 0) return -1;
      input = input * in[d] + at;
    }
    return input;
  }
  int64_t input_along(int d, int64_t output, int64_t tap) const {
    const int64_t at = output * stride[d] - padding[d] + tap * dilation[d];
    return at < in[d] ? std::max<int64_t>(at, -1) : -1;
  }
  // Whether each output reads only the input at its own position.
  bool on_input() const {
    bool same = taps() == 1;
    for (int d = 0; d < 3; ++d) same = same && stride[d] == 1 && padding[d] == 0;
    return same;
  }
};

// `bias` has out_channels elements for conv_forward and in_channels for conv_input, and may be null.
using ConvFn = void(DType dtype, const ConvShape& shape, const void* x, const void* w, const void* bias, void* y);
inline constinit Kernel<ConvFn> conv_forward;
inline constinit Kernel<ConvFn> conv_input;  // (dy, w) -> dx
// Computes dw from x and dy.
inline constinit Kernel<void(DType dtype, const ConvShape& shape, const void* x, const void* dy, void* dw)> conv_weight;

}  // namespace genesis::kernels
