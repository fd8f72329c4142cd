// Convolutions and averages of integers: windows are copied to a matrix, then multiplied or summed. Results wrap around
// in their dtype and have no gradient.
#pragma once

#include "core/tensor.h"
#include "kernels/conv/conv.h"
#include "kernels/pool/pool.h"

namespace genesis::ops {

/// What kernels::conv_forward makes of x (batch, channels, *in); bias may be undefined.
Tensor integer_conv(const Tensor& x, const Tensor& w, const Tensor& bias, const kernels::ConvShape& s,
                    const Dims& shape);
/// What kernels::conv_input makes of y (batch, channels, *out).
Tensor integer_conv_transpose(const Tensor& y, const Tensor& w, const Tensor& bias, const kernels::ConvShape& s,
                              const Dims& shape);
/// Means of windows, rounded towards zero, of x in int64.
Tensor integer_avg_pool(const Tensor& x, const kernels::PoolShape& s, const Dims& shape);

}  // namespace genesis::ops
