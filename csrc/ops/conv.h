// Convolutions of one to three spatial dimensions, and their transposes.
#pragma once

#include "core/tensor.h"

namespace genesis::ops {

struct ConvOptions {
  Dims stride, padding, dilation;  // one number, or one for each spatial dimension
  int64_t groups = 1;
  bool same = false;  // instead of `padding`: as much as preserves the size; an odd element goes to the end
};

/// y = bias + the correlation of x (batch, channels, *in) with weight (out, channels / groups, *kernel); x may lack the
/// batch, bias may be undefined.
Tensor conv(const char* op, int spatial, const Tensor& x, const Tensor& weight, const Tensor& bias,
            const ConvOptions& options);

/// The transpose of conv in x: what takes conv's output back to its input's shape. Weight is (channels, out / groups,
/// *kernel). `output_padding` adds to the size of the result, which a stride leaves open.
Tensor conv_transpose(const char* op, int spatial, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      const ConvOptions& options, const Dims& output_padding);

}  // namespace genesis::ops
