// Moves elements between strided memory of one dtype and contiguous memory of another.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Copies n elements from `src`, `stride` bytes apart, to contiguous `dst`. Values that the target cannot represent wrap
// around (integers) or are rounded (floats). Conversion to bool means != 0.
inline constinit Kernel<void(void* dst, DType to, const void* src, int64_t stride, DType from, int64_t n)> gather;
// The inverse: from contiguous `src` to strided `dst`.
inline constinit Kernel<void(void* dst, int64_t stride, DType to, const void* src, DType from, int64_t n)> scatter;

// Copies src, broadcast, to dst, and converts it if the dtypes differ.
inline constinit Kernel<void(View dst, View src)> copy;

}  // namespace genesis::kernels
