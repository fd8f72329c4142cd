// Arithmetic and comparisons, elementwise over broadcast views. The output's dtype is the type of the computation.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

using Binary = Kernel<void(View y, View a, View b)>;

inline constinit Binary add, sub, mul, div;

}  // namespace genesis::kernels
