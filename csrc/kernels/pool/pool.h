// Pooling over three spatial dimensions, of which missing ones have size 1, for float32 and float64. The layout is
// contiguous planes, or channels-last images in the kernels named _last.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

struct PoolShape {
  int64_t planes;    // images times channels
  int64_t channels;  // of an image, for channels-last
  int64_t in[3], out[3];
  // Output o reads the existing inputs among o * stride - padding + t * dilation, t < kernel; or, if adaptive, those
  // from floor(o * in / out) to ceil((o + 1) * in / out).
  int64_t kernel[3], stride[3], padding[3], dilation[3];
  bool adaptive = false;
  // For averages: the divisor (0: the number of inputs, including those in the padding if count_padding).
  int64_t divisor = 0;
  bool count_padding = true;

  template <class A>
  void arguments(A&) {}  // only numbers

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
};

// The largest input of each window and its position in its plane (the first of equals). NaN is larger than any number.
// `index` is int64, or int32 with float32. Also for int64, with an int64 index.
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* x, void* y, DType index_dtype,
                             void* index)>
    max_pool;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* x, void* y)> avg_pool;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* dy, void* dx)> avg_pool_backward;

// Between planes of `few` elements with an index each, and planes of `many`: y[i] = x[index[i]], and its transpose,
// x[index[i]] += y[i] with x cleared first (sum) or x[index[i]] = y[i]. All indices must be in 0..many - 1.
inline constinit Kernel<void(DType dtype, int64_t planes, int64_t few, int64_t many, const void* x, DType index_dtype,
                             const void* index, void* y)>
    plane_gather;
inline constinit Kernel<void(DType dtype, int64_t planes, int64_t few, int64_t many, const void* y, DType index_dtype,
                             const void* index, void* x, bool sum)>
    plane_scatter;

// The same for (images, positions, channels); max_pool_backward_last adds dy at the positions of the maxima.
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* x, void* y, DType index_dtype,
                             void* index)>
    max_pool_last;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* dy, DType index_dtype, const void* index,
                             void* dx)>
    max_pool_backward_last;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* x, void* y)> avg_pool_last;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* dy, void* dx)> avg_pool_backward_last;

}  // namespace genesis::kernels
