// Maps that read and write complete lines of memory: resampling along one dimension, and windows laid out as columns.
// Contiguous float32 and float64.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// y[a, o, b] = sum over t < taps of weight[o, t] * x[a, index[o, t], b] for x of (outer, in, inner), y of (outer, out,
// inner).
struct ResampleTable {
  int64_t outer, in, out, inner, taps;
  const int64_t* index;
  const double* weight;

  template <class A>
  void arguments(A& a) {
    a.array(index, out * taps);
    a.array(weight, out * taps);
  }
};
using ResampleFn = void(DType dtype, const ResampleTable& table, const void* x, void* y);
inline constinit Kernel<ResampleFn> resample;
inline constinit Kernel<ResampleFn> resample_transposed;  // from the shape of y to that of x

// The same for bytes in integer arithmetic: weights are scaled by 2^shift, and sums are rounded and clipped to 0..255.
struct ByteTable {
  int64_t outer, in, out, inner, taps;
  const int64_t* index;
  const int16_t* weight;
  int shift;
};
inline constinit Kernel<void(const ByteTable& table, const uint8_t* x, uint8_t* y)> resample_bytes;

// Planes (height, width) and columns (kernel taps, windows).
struct UnfoldShape {
  int64_t planes;
  int64_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];

  template <class A>
  void arguments(A&) {}  // only numbers
};
inline constinit Kernel<void(DType dtype, const UnfoldShape& shape, const void* x, void* columns)> unfold;
inline constinit Kernel<void(DType dtype, const UnfoldShape& shape, const void* columns, void* x)> fold;

}  // namespace genesis::kernels
