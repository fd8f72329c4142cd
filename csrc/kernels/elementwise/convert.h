// Moving elements between strided memory of any dtype and contiguous memory of another.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// n elements from `src`, `stride` bytes apart, to contiguous `dst`. A value that the target cannot hold wraps
// (integers) or rounds (floats); to bool means != 0.
inline constinit Kernel<void(void* dst, DType to, const void* src, int64_t stride, DType from, int64_t n)> gather;
// The other way round.
inline constinit Kernel<void(void* dst, int64_t stride, DType to, const void* src, DType from, int64_t n)> scatter;

// Copies src to dst (broadcasting src), converting if their dtypes differ.
inline constinit Kernel<void(View dst, View src)> copy;

}  // namespace genesis::kernels
