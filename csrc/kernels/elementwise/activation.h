// Activation functions and their gradients, each in one pass.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Kernel<void(View y, View x)> relu, silu, mish, logsigmoid, softsign;
inline constinit Kernel<void(View dx, View dy, View x)> silu_backward, mish_backward, logsigmoid_backward,
    softsign_backward;
inline constinit Kernel<void(View dx, View dy, View y)> relu_backward;

inline constinit Kernel<void(View y, View x, bool tanh)> gelu;
inline constinit Kernel<void(View dx, View dy, View x, bool tanh)> gelu_backward;

inline constinit Kernel<void(View y, View x, double slope)> leaky_relu;
inline constinit Kernel<void(View dx, View dy, View x, double slope)> leaky_relu_backward;
// scale x for x > 0, otherwise scale alpha (exp(input_scale x) - 1).
inline constinit Kernel<void(View y, View x, double alpha, double scale, double input_scale)> elu;
inline constinit Kernel<void(View dx, View dy, View x, double alpha, double scale, double input_scale)> elu_backward;
inline constinit Kernel<void(View y, View x, double beta, double threshold)> softplus;
inline constinit Kernel<void(View dx, View dy, View x, double beta, double threshold)> softplus_backward;
// a sigmoid(b), which also computes the gradient of a; and the gradient of b.
inline constinit Kernel<void(View y, View a, View b)> glu;
inline constinit Kernel<void(View db, View dy, View a, View b)> glu_gate_backward;

}  // namespace genesis::kernels
