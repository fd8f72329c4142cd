// Matrix products of integers: plain loops that wrap around on overflow.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// c (m x n) = a (m x k) @ b (k x n), all of one integer type.
inline constinit Kernel<void(View c, View a, View b)> integer_gemm;

}  // namespace genesis::kernels
