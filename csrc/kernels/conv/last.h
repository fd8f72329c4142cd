// Convolutions of images whose channels lie last: x is (batch, in, channels), y (batch, out, channels), w (channels
// out, kernel, channels in). Results are bitwise the same for any number of threads.
#pragma once

#include <algorithm>

#include "core/isa.h"
#include "kernels/conv/conv.h"

namespace genesis::kernels {

// Whether each of the three maps is better done with the channels last, copies included, if its operands are `last`, or
// if they are not. With the channels first, that is so for small images in a large batch, whose positions fill no
// vectors.
inline bool always_last(const ConvShape& s) {
  return s.groups > 1 ? s.in_channels == 1 && s.out_channels == 1 : s.on_input();
}
inline bool small_images(const ConvShape& s, int64_t positions) {
  return s.taps() > 1 && s.batch >= 32 && positions <= 64 && std::min(s.in_channels, s.out_channels) >= 8;
}
// Of a group: channels made, which fill vectors (of 16 or fewer), and read, which fill runs of neighbouring memory.
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
