// Piecewise linear activation functions and their gradients.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Kernel<void(View y, View x, double low, double high)> hardtanh;
inline constinit Kernel<void(View dx, View dy, View x, double low, double high)> hardtanh_backward;
inline constinit Kernel<void(View y, View x)> hardsigmoid, hardswish;
inline constinit Kernel<void(View dx, View dy, View x)> hardsigmoid_backward, hardswish_backward;
// Both have the same gradient.
inline constinit Kernel<void(View y, View x, double lambda)> hardshrink, softshrink;
inline constinit Kernel<void(View dx, View dy, View x, double lambda)> shrink_backward;
inline constinit Kernel<void(View y, View x, double threshold, double value)> threshold;
inline constinit Kernel<void(View dx, View dy, View x, double threshold)> threshold_backward;

// The slope below 0 is a tensor.
inline constinit Kernel<void(View y, View x, View slope)> prelu;
inline constinit Kernel<void(View dx, View dy, View x, View slope)> prelu_backward;
inline constinit Kernel<void(View dslope, View dy, View x)> prelu_slope_backward;

}  // namespace genesis::kernels
