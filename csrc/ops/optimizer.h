// Optimizer steps: each changes parameters and their state in place, outside any graph, all in one kernel call.
#pragma once

#include <utility>
#include <vector>

#include "core/tensor.h"

namespace genesis::ops {

// A parameter with a gradient. `state` contains tensors of its shape, `numbers` 0-d tensors, both in the order listed
// for the step below; all are written.
struct Trained {
  Tensor value, grad;
  Tensor state[3];
  Tensor numbers[3];
  bool first = false;  // the state is new
};
using TrainedList = std::vector<Trained>;
using Betas = std::pair<double, double>;

// state: momentum_buffer if momentum is not 0
struct SgdOptions {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
};
void sgd_step(const TrainedList& list, const SgdOptions& options);

// state: exp_avg, exp_avg_sq, max_exp_avg_sq if amsgrad; numbers: step
struct AdamOptions {
  double lr;
  Betas betas;
  double eps, weight_decay;
  bool amsgrad, maximize, decoupled;
};
void adam_step(const TrainedList& list, const AdamOptions& options);

// state: exp_avg, exp_avg_sq; numbers: step, mu_product
struct NAdamOptions {
  double lr;
  Betas betas;
  double eps, weight_decay, momentum_decay;
  bool maximize, decoupled;
};
void nadam_step(const TrainedList& list, const NAdamOptions& options);

// state: exp_avg, exp_avg_sq; numbers: step
struct RAdamOptions {
  double lr;
  Betas betas;
  double eps, weight_decay;
  bool maximize, decoupled;
};
void radam_step(const TrainedList& list, const RAdamOptions& options);

// state: exp_avg, exp_inf; numbers: step
struct AdamaxOptions {
  double lr;
  Betas betas;
  double eps, weight_decay;
  bool maximize;
};
void adamax_step(const TrainedList& list, const AdamaxOptions& options);

// state: sum; numbers: step
struct AdagradOptions {
  double lr, lr_decay, eps, weight_decay;
  bool maximize;
};
void adagrad_step(const TrainedList& list, const AdagradOptions& options);

// state: square_avg, acc_delta; numbers: step
struct AdadeltaOptions {
  double lr, rho, eps, weight_decay;
  bool maximize;
};
void adadelta_step(const TrainedList& list, const AdadeltaOptions& options);

// state: square_avg, momentum_buffer if momentum is not 0, grad_avg if centered; numbers: step
struct RMSpropOptions {
  double lr, alpha, eps, weight_decay, momentum;
  bool centered, maximize;
};
void rmsprop_step(const TrainedList& list, const RMSpropOptions& options);

// state: prev, step_size; numbers: step
struct RpropOptions {
  Betas etas, step_sizes;
  bool maximize;
};
void rprop_step(const TrainedList& list, const RpropOptions& options);

// state: ax; numbers: step, eta, mu
struct AsgdOptions {
  double lr, lambd, alpha, t0, weight_decay;
  bool maximize;
};
void asgd_step(const TrainedList& list, const AsgdOptions& options);

// state: exp_avg
struct LionOptions {
  double lr;
  Betas betas;
  double weight_decay;
  bool maximize;
};
void lion_step(const TrainedList& list, const LionOptions& options);

// value + t grad, where grad is the direction of the step.
void follow(const TrainedList& list, double t);
// value + weight (grad - value), where grad is the tensor that is averaged.
void average(const TrainedList& list, double weight);
// Multiplies gradients in place. Returns whether all products are finite.
bool unscale(const std::vector<Tensor>& grads, double factor);

// The element of a single-element tensor; and the number of this step, which is counted in the state.
double number(const Tensor& t);
double advance(const char* op, const Tensor& step);

}  // namespace genesis::ops
