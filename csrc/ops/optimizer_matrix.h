// Optimizers whose update of an element depends on other elements. All parameters are updated in one call, outside any
// graph.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ops/optimizer.h"

namespace genesis::ops {

// state: row_var and col_var for matrices, variance for others; numbers: step
struct AdafactorOptions {
  double lr, beta2_decay;
  std::optional<double> eps1;  // default: that of the dtype
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

// The history of L-BFGS, oldest first: changes of the gradient, steps, and 1 / their products.
struct LbfgsHistory {
  std::vector<Tensor> changes, steps;
  std::vector<double> ro;
  double diagonal = 1;  // the initial inverse Hessian
};
// Adds the last step, t along `direction`, to the history, unless the curvature is too small; keeps at most `most`
// entries.
void lbfgs_remember(LbfgsHistory& history, const Tensor& grad, const Tensor& last_grad, const Tensor& direction,
                    double t, int64_t most);
// Minus the inverse Hessian times the gradient.
Tensor lbfgs_direction(const LbfgsHistory& history, const Tensor& grad);
// The gradients of all parameters as one vector, with zeros for missing gradients.
Tensor flat_grad(const std::vector<Tensor>& params);
// params + t direction, starting at the current values or at `origin`.
void lbfgs_move(const std::vector<Tensor>& params, const Tensor& direction, double t,
                const std::vector<Tensor>& origin);

}  // namespace genesis::ops
