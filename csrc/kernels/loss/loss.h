// Losses: of elements with respect to elements, and of class scores with respect to class indices.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// f(x, y) for a prediction x and its target y.
enum class PointwiseLoss : uint8_t {
  Squared,        // (x - y)^2
  Absolute,       // |x - y|
  SmoothL1,       // (x - y)^2 / (2 beta) if |x - y| < beta, otherwise |x - y| - beta / 2
  Huber,          // delta times SmoothL1 with beta = delta
  BinaryEntropy,  // -y log(x) - (1 - y) log(1 - x), with logarithms clamped to -100
  LogitEntropy,   // the same for sigmoid(x)
};

// z = f(x, y), element by element.
inline constinit Kernel<void(PointwiseLoss loss, View z, View x, View y, double parameter)> pointwise_loss;
// The sum of f(x, y) over n elements of contiguous memory of one dtype. The number z is the sum times `scale`.
inline constinit Kernel<void(PointwiseLoss loss, View z, View x, View y, double parameter, double scale)>
    pointwise_loss_sum;
// dx = dz * scale * df/dx, where dz is broadcast.
inline constinit Kernel<void(PointwiseLoss loss, View dx, View dz, View x, View y, double parameter, double scale)>
    pointwise_loss_backward;

// Scores x for classes, contiguous (outer, classes, inner), and class indices y (outer, inner). The target distribution
// of a case is t = weight * ((1 - smoothing) onehot(y) + smoothing / classes). Its loss is -sum(t * log_softmax(x)), or
// 0 if y is `ignored`.
struct CrossEntropy {
  int64_t outer, classes, inner;
  const int64_t* y;
  const void* weight;  // in the compute dtype of x, or null for ones
  int64_t ignored;
  double smoothing;

  template <class A>
  void arguments(A& a) {
    a.visit(y);
    a.visit(weight);
  }
};
// Writes the largest score of each case and, in the second row of `log_sum`, log(sum(exp(x - largest))). They are
// stored separately because their rounded sum would lose the significant digits if all scores are large. Writes the
// losses if `loss` has data, and their sum times `scale` to the number `total` if it has data.
inline constinit Kernel<void(View loss, View log_sum, View total, View x, double scale, const CrossEntropy& problem)>
    cross_entropy{.writes = 0b111};
// The number of class indices among n that are not `ignored`, or -1 - i if index i is out of range.
inline constinit Kernel<int64_t(const int64_t* y, int64_t n, int64_t classes, int64_t ignored)> count_classes;
// dx = g * (softmax(x) * sum(t) - t), where g is dz * scale: one number if dz is 0-dimensional, otherwise one per case.
inline constinit Kernel<void(View dx, View dz, View x, View log_sum, double scale, const CrossEntropy& problem)>
    cross_entropy_backward;
// The target distribution t.
inline constinit Kernel<void(View t, const CrossEntropy& problem)> cross_entropy_target;

}  // namespace genesis::kernels
