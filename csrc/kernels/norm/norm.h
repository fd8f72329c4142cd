// Normalisation to mean 0 and variance 1, and its gradients.
//
// x, y and their gradients are contiguous and of one floating dtype; everything else is contiguous too. Statistics
// (mean, rstd = 1 / sqrt(variance + eps)) are in the compute type of x. A View without data is an operand that does not
// exist, or a result that is not needed.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Over rows of x, (rows, n): y = (x - mean) rstd weight + bias, weight and bias having n elements. With `centered`
// false the mean counts as 0 (RMS norm), and is not written.
inline constinit Kernel<void(View y, View mean, View rstd, View x, View weight, View bias, double eps, bool centered)>
    layer_norm{.writes = 0b111};
inline constinit Kernel<void(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight)>
    layer_norm_backward{.writes = 0b111};  // without mean: of RMS norm

// Over the groups of channels of each sample: x is (samples, channels, inner), statistics (samples, groups), weight and
// bias have one element for each channel.
inline constinit Kernel<void(View y, View mean, View rstd, View x, View weight, View bias, double eps)> group_norm{
    .writes = 0b111};
inline constinit Kernel<void(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight)>
    group_norm_backward{.writes = 0b111};

// Over everything but the channels: x is (outer, channels, inner), all else has one element for each channel.
// Whether float32 statistics are not good enough; without `mean`, those of RMS norm.
inline constinit Kernel<bool(const float* mean, const float* rstd, int64_t n)> doubtful;

struct RunningStats {
  View mean, var;
  double momentum;  // weight of the new statistics; of the variance, the unbiased one

  template <class A>
  void arguments(A& a) {
    a.written(mean);
    a.written(var);
  }
};
// Trains with the statistics of x, and updates the running ones if there are any; writes mean and rstd.
inline constinit Kernel<void(View y, View mean, View rstd, View x, View weight, View bias, double eps,
                             const RunningStats& running)>
    batch_norm{.writes = 0b111};
// y = (x - mean) rstd weight + bias for given statistics.
inline constinit Kernel<void(View y, View x, View mean, View rstd, View weight, View bias)> batch_norm_apply;
// With `training`, mean and rstd count as functions of x.
inline constinit Kernel<void(View dx, View dweight, View dbias, View dy, View x, View mean, View rstd, View weight,
                             bool training)>
    batch_norm_backward{.writes = 0b111};

}  // namespace genesis::kernels
