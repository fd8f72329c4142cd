// Losses: of elements against elements, and of scores for classes against the numbers of classes.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// f(x, y), where x is a prediction and y its target.
enum class PointwiseLoss : uint8_t {
  Squared,        // (x - y)^2
  Absolute,       // |x - y|
  SmoothL1,       // (x - y)^2 / (2 beta) if |x - y| < beta, else |x - y| - beta / 2
  Huber,          // delta times SmoothL1 with beta = delta
  BinaryEntropy,  // -y log(x) - (1 - y) log(1 - x), logarithms at least -100
  LogitEntropy,   // the same of sigmoid(x)
};

// z = f(x, y), element by element.
inline constinit Kernel<void(PointwiseLoss loss, View z, View x, View y, double parameter)> pointwise_loss;
// The sum of f(x, y) over n elements of contiguous memory of one dtype.
// z, a number, is the sum times `scale`.
inline constinit Kernel<void(PointwiseLoss loss, View z, View x, View y, double parameter, double scale)>
    pointwise_loss_sum;
// dx = dz * scale * df/dx; dz broadcasts.
inline constinit Kernel<void(PointwiseLoss loss, View dx, View dz, View x, View y, double parameter, double scale)>
    pointwise_loss_backward;

// Scores x for classes, contiguous (outer, classes, inner), against class numbers y (outer, inner). The target
// distribution of a case is t = weight * ((1 - smoothing) onehot(y) + smoothing / classes); its loss is
// -sum(t * log_softmax(x)), and 0 where y is `ignored`.
struct CrossEntropy {
  int64_t outer, classes, inner;
  const int64_t* y;
  const void* weight;  // of the compute type of x, or null for ones
  int64_t ignored;
  double smoothing;

  template <class A>
  void arguments(A& a) {
    a.visit(y);
    a.visit(weight);
  }
};
// Writes the largest score of each case and, in the second row of `log_sum`, log(sum(exp(x - largest))): their sum,
// rounded, would lose the digits that count where all scores are large. If `loss` has memory, writes the losses;
// returns the sum of the losses.
// `loss` may have no data; `total`, a number, is the sum times `scale`, unless it has no data.
inline constinit Kernel<void(View loss, View log_sum, View total, View x, double scale, const CrossEntropy& problem)>
    cross_entropy{.writes = 0b111};
// How many of n class numbers are not `ignored`; -1 - i if number i is out of range.
inline constinit Kernel<int64_t(const int64_t* y, int64_t n, int64_t classes, int64_t ignored)> count_classes;
// dx = g * (softmax(x) * sum(t) - t), where g is dz * scale: one number if dz has no dimensions, else one for each
// case.
inline constinit Kernel<void(View dx, View dz, View x, View log_sum, double scale, const CrossEntropy& problem)>
    cross_entropy_backward;
// t itself.
inline constinit Kernel<void(View t, const CrossEntropy& problem)> cross_entropy_target;

}  // namespace genesis::kernels
