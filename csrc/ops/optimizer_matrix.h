// Optimizers whose update of an element depends on other elements. All parameters are updated in one call, outside any
// graph.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ops/optimizer.h"

namespace genesis::ops {

// state: row_var and col_var of matrices, variance of others; numbers: step
struct AdafactorOptions {
  double lr, beta2_decay;
  std::optional<double> eps1;  // of the dtype if absent
  double eps2, d, weight_decay;
  bool maximize;
};
void adafactor_step(const TrainedList& list, const AdafactorOptions& options);

// state: momentum_buffer
struct MuonOptions {
  double lr, weight_decay, momentum;
  bool nesterov, match_rms_adamw;
  std::array<double, 3> coefficients;
  double eps;
  int64_t iterations;
};
void muon_step(const TrainedList& list, const MuonOptions& options);

// What L-BFGS remembers of its last steps, oldest first: how the gradient changed, the step, and 1 / their product.
struct LbfgsHistory {
  std::vector<Tensor> changes, steps;
  std::vector<double> ro;
  double diagonal = 1;  // the inverse Hessian before all of them
};
// Takes the last step, t along `direction`, into the history, unless it found no curvature; `most` are kept.
void lbfgs_remember(LbfgsHistory& history, const Tensor& grad, const Tensor& last_grad, const Tensor& direction,
                    double t, int64_t most);
// Minus the inverse Hessian times the gradient.
Tensor lbfgs_direction(const LbfgsHistory& history, const Tensor& grad);
// The gradients of all parameters as one vector; 0 where there is none.
Tensor flat_grad(const std::vector<Tensor>& params);
// params + t direction, from where they are or from `origin`.
void lbfgs_move(const std::vector<Tensor>& params, const Tensor& direction, double t,
                const std::vector<Tensor>& origin);

}  // namespace genesis::ops
