// Convolutions of images whose channels lie last: x is (batch, in, channels), y (batch, out, channels), w (channels out,
// kernel, channels in). Results are bitwise the same for any number of threads.
#pragma once

#include <algorithm>

#include "kernels/conv.h"

namespace genesis::kernels {

// Which of the three maps are there. Others are better done with the channels first, copies included.
inline bool always_runs_last(const ConvShape& s) {
  return s.groups > 1 ? s.in_channels == 1 && s.out_channels == 1 : s.on_input();
}
// Of a group: channels made, which fill vectors, and read, which fill runs of neighbouring memory.
inline bool runs_last(const ConvShape& s, int64_t made, int64_t read) {
  return always_runs_last(s) || (made >= 24 && read * s.kernel[2] >= 8);
}
inline bool forward_runs_last(const ConvShape& s) { return runs_last(s, s.out_channels, s.in_channels); }
inline bool input_runs_last(const ConvShape& s) { return runs_last(s, s.in_channels, s.out_channels); }
inline bool weight_runs_last(const ConvShape& s) {
  return always_runs_last(s) || std::min(s.in_channels, s.out_channels) >= 8;
}

inline constinit Kernel<ConvFn> conv_forward_last;
inline constinit Kernel<ConvFn> conv_input_last;  // (dy, w) -> dx
inline constinit Kernel<void(DType dtype, const ConvShape& shape, const void* x, const void* dy, void* dw)> conv_weight_last;

}  // namespace genesis::kernels
