// Activation functions. Smooth ones have a fused backward kernel for first derivatives.
#pragma once

#include "ops/inplace.h"

namespace genesis::ops {

/// max(x, 0); the gradient at 0 is 0.
Tensor relu(const Tensor& x, Out out = {});
/// x for x > 0, slope * x below.
Tensor leaky_relu(const Tensor& x, double slope = 0.01, Out out = {});
/// scale * x for x > 0, scale * alpha * (exp(input_scale * x) - 1) below: elu, selu and celu.
Tensor elu(const char* op, const Tensor& x, double alpha, double scale = 1, double input_scale = 1, Out out = {});
/// x * tanh(softplus(x)).
Tensor mish(const Tensor& x, Out out = {});
/// a * sigmoid(b), where a and b are the halves of x along `dim`.
Tensor glu(const Tensor& x, int64_t dim);
/// log(sigmoid(x)).
Tensor logsigmoid(const Tensor& x);
/// x / (1 + |x|).
Tensor softsign(const Tensor& x);
/// x times the probability that a normal number is below x; `tanh` chooses the usual approximation.
Tensor gelu(const Tensor& x, bool tanh = false);
/// x * sigmoid(x).
Tensor silu(const Tensor& x, Out out = {});
/// log(1 + exp(beta x)) / beta: a smooth relu; x itself where beta x > threshold.
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);

}  // namespace genesis::ops
