// Resizing of images, and division of images into windows.
#pragma once

#include <string>

#include "core/tensor.h"

namespace genesis::ops {

struct ResampleOptions {
  std::string mode;             // nearest, nearest-exact, linear, cubic
  bool align_corners = false;   // align the centres of the corner pixels, rather than their outer edges
  bool antialias = false;       // when shrinking, use all inputs
  InlineVec<double, 3> scales;  // size out / size in, if it is not exactly that; 0 or absent: exactly that
};
/// x (batch, channels, *in) at other sizes of its spatial dimensions.
Tensor resample(const Tensor& x, const Dims& size, const ResampleOptions& options);

struct UnfoldOptions {
  Dims kernel, dilation, padding, stride;  // one number or two
};
/// Windows of (batch, channels, height, width) as columns: (batch, channels * taps, windows); the batch may be missing.
Tensor unfold_windows(const Tensor& x, const UnfoldOptions& options);
/// The transpose: columns added up to images of the given size.
Tensor fold_windows(const Tensor& columns, const Dims& size, const UnfoldOptions& options);

}  // namespace genesis::ops
