// Functions of one real number. y is floating point; x is converted to its dtype.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

using Unary = Kernel<void(View y, View x)>;

inline constinit Unary exp, exp2, expm1, log, log2, log10, log1p, sqrt, rsqrt;
inline constinit Unary sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh;
inline constinit Unary erf, erfc, erfinv, lgamma, digamma, sigmoid;
inline constinit Kernel<void(View y, View x, int64_t order)> polygamma;

// dx = dy * f'(x), computed from f's value y in one pass, for the gradients that are frequent in training.
inline constinit Kernel<void(View dx, View dy, View y)> tanh_backward, sigmoid_backward;

}  // namespace genesis::kernels
