// Reductions. `y` has the shape of `x` with size 1 (and stride 0) along the reduced dimensions.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Kernel<void(View y, View x)> sum;

}  // namespace genesis::kernels
