// Normalization layers as operators. `weight` and `bias` may be undefined; they have x's dtype, or float32 for half
// precision. Statistics are computed in at least float32.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace genesis::ops {

/// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, whose sizes are `normalized_shape`.
Tensor layer_norm(const Tensor& x, const Dims& normalized_shape, const Tensor& weight, const Tensor& bias, double eps);
/// x / sqrt(mean(x^2) + eps) * weight. Without eps, the dtype's own.
Tensor rms_norm(const Tensor& x, const Dims& normalized_shape, const Tensor& weight, std::optional<double> eps);
/// The same over each of `groups` groups of channels (dimension 1) of each sample; weight and bias are for each
/// channel.
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps);
/// Over everything but the channels (dimension 1). When training, with the statistics of x, by which running_mean and
/// running_var, if defined, are updated in place; else with those.
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, bool training, double momentum, double eps);

}  // namespace genesis::ops
