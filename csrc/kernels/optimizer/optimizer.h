// Updates of parameters from their gradients: one fused loop per algorithm, over all parameters together.
#pragma once

#include <span>

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// A parameter and its data: arrays of `count` elements of one dtype, in the same order. The value comes first, then the
// gradient, then the state in the order in which the algorithm's comment lists it.
template <class Algorithm>
struct Update {
  static constexpr int kMaxArrays = 5;
  void* arrays[kMaxArrays];
  int64_t count;
  DType dtype;
  Algorithm algorithm;  // its numbers, which may depend on the number of steps of this parameter
};
template <class Algorithm>
using Updates = std::span<const Update<Algorithm>>;

// In all algorithms, `sign` is -1 to maximize, `decay` is the factor of the value that weight decay adds to the
// gradient, and `shrink` is the factor by which decoupled weight decay multiplies the value.

// buffer, if momentum is not 0
struct Sgd {
  double sign, decay, lr, momentum, dampening;
  bool nesterov, first;  // the first step sets the buffer
};
// exp_avg, exp_avg_sq, and max_exp_avg_sq if amsgrad
struct Adam {
  double sign, decay, shrink, beta1, beta2, eps;
  double step_size, root_correction;
  bool amsgrad;
};
// exp_avg, exp_avg_sq
struct NAdam {
  double sign, decay, shrink, beta1, beta2, eps;
  double correction, grad_step, average_step;
};
// exp_avg, exp_avg_sq
struct RAdam {
  double sign, decay, shrink, beta1, beta2, eps;
  double lr, correction, root_correction, rectification;
  bool rectified;
};
// exp_avg, exp_inf
struct Adamax {
  double sign, decay, beta1, beta2, eps, step_size;
};
// sum
struct Adagrad {
  double sign, decay, eps, step_size;
};
// square_avg, acc_delta
struct Adadelta {
  double sign, decay, lr, rho, eps;
};
// square_avg, then momentum_buffer if momentum is not 0, then grad_avg if centered
struct RMSprop {
  double sign, decay, lr, alpha, eps, momentum;
  bool centered;
};
// prev, step_size
struct Rprop {
  double sign, eta_minus, eta_plus, smallest, largest;
};
// ax
struct Asgd {
  double sign, decay, lambd, eta, mu;
};
// exp_avg
struct Lion {
  double sign, shrink, lr, beta1, beta2;
};

// Not an optimizer: the value moves towards the other array.
struct Average {
  double weight;
};
// Not an optimizer: the gradient is the only array.
struct Unscale {
  double factor;
};

inline constinit Kernel<void(Updates<Sgd>)> sgd;
inline constinit Kernel<void(Updates<Adam>)> adam;
inline constinit Kernel<void(Updates<NAdam>)> nadam;
inline constinit Kernel<void(Updates<RAdam>)> radam;
inline constinit Kernel<void(Updates<Adamax>)> adamax;
inline constinit Kernel<void(Updates<Adagrad>)> adagrad;
inline constinit Kernel<void(Updates<Adadelta>)> adadelta;
inline constinit Kernel<void(Updates<RMSprop>)> rmsprop;
inline constinit Kernel<void(Updates<Rprop>)> rprop;
inline constinit Kernel<void(Updates<Asgd>)> asgd;
inline constinit Kernel<void(Updates<Lion>)> lion;
inline constinit Kernel<void(Updates<Average>)> average;
// Multiplies gradients by a factor. Returns whether all products are finite.
inline constinit Kernel<bool(Updates<Unscale>)> unscale;

}  // namespace genesis::kernels
