// Normalization to mean 0 and variance 1, and its gradients.
//
// x, y and their gradients are contiguous and have one floating dtype; all other operands are contiguous too.
// Statistics (mean, rstd = 1 / sqrt(variance + eps)) are in the compute dtype of x. A View without data is an operand
// that does not exist, or a result that is not needed.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Over the rows of x, (rows, n): y = (x - mean) rstd weight + bias, where weight and bias have n elements. If
// `centered` is false, the mean is taken as 0 (RMS norm) and not written.
inline constinit Kernel<void(View y, View mean, View rstd, View x, View weight, View bias, double eps, bool centered)>
    layer_norm{.writes = 0b111};
inline constinit Kernel<void(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight)>
    layer_norm_backward{.writes = 0b111};  // RMS norm if there is no mean

// Over the groups of channels of each sample: x is (samples, channels, inner), statistics are (samples, groups), weight
// and bias have one element per channel.
inline constinit Kernel<void(View y, View mean, View rstd, View x, View weight, View bias, double eps)> group_norm{
    .writes = 0b111};
inline constinit Kernel<void(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight)>
    group_norm_backward{.writes = 0b111};

// Whether float32 statistics are too inaccurate; without `mean`, those of RMS norm.
inline constinit Kernel<bool(const float* mean, const float* rstd, int64_t n)> doubtful;

// Batch norm, over all dimensions but the channels: x is (outer, channels, inner), and all else has one element per
// channel.
struct RunningStats {
  View mean, var;
  double momentum;  // weight of the new statistics; the variance is the unbiased one

  template <class A>
  void arguments(A& a) {
    a.written(mean);
    a.written(var);
  }
};
// Normalizes with the statistics of x, updates the running statistics if there are any, and writes mean and rstd.
inline constinit Kernel<void(View y, View mean, View rstd, View x, View weight, View bias, double eps,
                             const RunningStats& running)>
    batch_norm{.writes = 0b111};
// y = (x - mean) rstd weight + bias for given statistics.
inline constinit Kernel<void(View y, View x, View mean, View rstd, View weight, View bias)> batch_norm_apply;
// With `training`, mean and rstd are functions of x.
inline constinit Kernel<void(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight,
                             bool training)>
    batch_norm_backward{.writes = 0b111};

}  // namespace genesis::kernels
