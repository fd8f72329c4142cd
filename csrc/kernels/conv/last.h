// Convolutions of channels-last images: x is (batch, in, channels), y (batch, out, channels), w (channels out, kernel,
// channels in). Results are bitwise identical for any number of threads.
#pragma once

#include <algorithm>

#include "core/isa.h"
#include "kernels/conv/conv.h"

namespace genesis::kernels {

// Whether each of the three maps is faster in channels-last format, including copies, depending on whether its operands
// are already `last`. If they are not, that is the case for small images in a large batch, whose positions do not fill
// vectors.
inline bool always_last(const ConvShape& s) {
  return s.groups > 1 ? s.in_channels == 1 && s.out_channels == 1 : s.on_input();
}
inline bool small_images(const ConvShape& s, int64_t positions) {
  return s.taps() > 1 && s.batch >= 32 && positions <= 64 && std::min(s.in_channels, s.out_channels) >= 8;
}
// For one group: whether there are enough output channels to fill vectors (of 16 or fewer), and enough input channels
// to fill runs of contiguous memory.
inline bool wide_channels(const ConvShape& s, int64_t made, int64_t read) {
  return made >= (isa() == Isa::avx512 ? 24 : 8) && read * s.kernel[2] >= 8;
}
inline bool forward_runs_last(const ConvShape& s, bool last) {
  return small_images(s, s.out_size()) || (last && (always_last(s) || wide_channels(s, s.out_channels, s.in_channels)));
}
inline bool input_runs_last(const ConvShape& s, bool last) {
  return small_images(s, s.in_size()) || (last && (always_last(s) || wide_channels(s, s.in_channels, s.out_channels)));
}
inline bool weight_runs_last(const ConvShape& s, bool last) {
  return last && (always_last(s) || std::min(s.in_channels, s.out_channels) >= 8);
}

inline constinit Kernel<ConvFn> conv_forward_last;
inline constinit Kernel<ConvFn> conv_input_last;  // (dy, w) -> dx
inline constinit Kernel<void(DType dtype, const ConvShape& shape, const void* x, const void* dy, void* dw)>
    conv_weight_last;

}  // namespace genesis::kernels
