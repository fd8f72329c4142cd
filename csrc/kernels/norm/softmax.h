// Softmax along one dimension. The views have one shape and at least one element; results have the dtype of the first.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Kernel<void(View y, View x, int dim)> softmax, log_softmax;
// Computed from the results y: y (dy - sum(y dy)), and dy - exp(y) sum(dy).
inline constinit Kernel<void(View dx, View dy, View y, int dim)> softmax_backward, log_softmax_backward;

}  // namespace genesis::kernels
