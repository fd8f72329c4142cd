// The gradient of a recurrent layer in differentiable operations, step by step: used if it is itself differentiated.
#pragma once

#include "autograd/node.h"
#include "kernels/recurrent/recurrent.h"
#include "ops/recurrent.h"

namespace genesis::ops {

/// Gradients of x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh and weight_hr, from those of out, h and c.
Grads recurrent_gradients_openly(kernels::Cell cell, const kernels::Sequence& sequence, const Grads& dy,
                                 const Tensor& x, const Tensor& h0, const Tensor& c0, const RecurrentWeights& weights);

}  // namespace genesis::ops
