// Piecewise linear activation functions.
#pragma once

#include "core/scalar.h"
#include "ops/inplace.h"

namespace genesis::ops {

/// x between low and high, which bound it; no gradient at the bounds and outside.
Tensor hardtanh(const char* op, const Tensor& x, Scalar low, Scalar high, Out out = {});
/// clamp(x + 3, 0, 6) / 6.
Tensor hardsigmoid(const Tensor& x, Out out = {});
/// x * hardsigmoid(x).
Tensor hardswish(const Tensor& x, Out out = {});
/// 0 for |x| <= lambda, x elsewhere.
Tensor hardshrink(const Tensor& x, double lambda);
/// 0 for |x| <= lambda, x moved towards 0 by lambda elsewhere.
Tensor softshrink(const Tensor& x, double lambda);
/// x where it is above the threshold, else `value`.
Tensor threshold(const Tensor& x, Scalar threshold, Scalar value, Out out = {});
/// x for x > 0, slope * x below; slope is broadcast to x.
Tensor leaky(const char* op, const Tensor& x, const Tensor& slope, Out out = {});
/// The same with one slope, or with one for each channel (dimension 1).
Tensor prelu(const Tensor& x, const Tensor& weight);

}  // namespace genesis::ops
