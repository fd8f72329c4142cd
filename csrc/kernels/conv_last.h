// Convolutions of images whose channels lie last: x is (batch, in, channels), y (batch, out, channels), w (channels out,
// kernel, channels in). Results are bitwise the same for any number of threads.
#pragma once

#include <algorithm>

#include "kernels/conv.h"

namespace genesis::kernels {

// Which convolutions are there. Others are better done with the channels first, copies included.
inline bool runs_channels_last(const ConvShape& s) {
  if (s.groups > 1) return s.in_channels == 1 && s.out_channels == 1;
  return s.on_input() || std::min(s.in_channels, s.out_channels) >= 48;
}

inline constinit Kernel<ConvFn> conv_forward_last;
inline constinit Kernel<ConvFn> conv_input_last;  // (dy, w) -> dx
inline constinit Kernel<void(DType dtype, const ConvShape& shape, const void* x, const void* dy, void* dw)> conv_weight_last;

}  // namespace genesis::kernels
