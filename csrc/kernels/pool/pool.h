// Pooling over three spatial dimensions, of which those that a tensor lacks have size 1; float32 and float64, of planes
// that follow each other or, in the kernels called _last, of images with their channels last.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

struct PoolShape {
  int64_t planes;    // images times channels
  int64_t channels;  // of an image, where they lie last
  int64_t in[3], out[3];
  // Output o sees the inputs o * stride - padding + t * dilation, t < kernel, that exist; or, if adaptive, those from
  // floor(o * in / out) to ceil((o + 1) * in / out).
  int64_t kernel[3], stride[3], padding[3], dilation[3];
  bool adaptive = false;
  // Of averages: what the sum is divided by (0: the number of inputs, with those in the padding if count_padding).
  int64_t divisor = 0;
  bool count_padding = true;

  template <class A>
  void arguments(A&) {}  // numbers only

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
};

// The largest input of each window and its place in its plane, the first of equals; NaN is larger than any number.
// `index` is int64, or int32 with float32. Also of int64, with an int64 index.
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* x, void* y, DType index_dtype,
                             void* index)>
    max_pool;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* x, void* y)> avg_pool;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* dy, void* dx)> avg_pool_backward;

// Between planes of `few` elements that have an index each, and planes of `many`: y[i] = x[index[i]], and its
// transpose, x[index[i]] += y[i] with x zero before (sum) or x[index[i]] = y[i]. All indices must be in 0..many - 1.
inline constinit Kernel<void(DType dtype, int64_t planes, int64_t few, int64_t many, const void* x, DType index_dtype,
                             const void* index, void* y)>
    plane_gather;
inline constinit Kernel<void(DType dtype, int64_t planes, int64_t few, int64_t many, const void* y, DType index_dtype,
                             const void* index, void* x, bool sum)>
    plane_scatter;

// The same of (images, positions, channels); max_pool_backward_last adds dy to where the maxima were.
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* x, void* y, DType index_dtype,
                             void* index)>
    max_pool_last;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* dy, DType index_dtype, const void* index,
                             void* dx)>
    max_pool_backward_last;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* x, void* y)> avg_pool_last;
inline constinit Kernel<void(DType dtype, const PoolShape& shape, const void* dy, void* dx)> avg_pool_backward_last;

}  // namespace genesis::kernels
