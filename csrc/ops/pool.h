// Pooling over the last one to three dimensions.
#pragma once

#include "core/tensor.h"

namespace genesis::ops {

struct PoolOptions {
  Dims kernel, stride, padding, dilation;  // one number, or one per spatial dimension; default stride: the kernel size
  bool ceil_mode = false;                  // whether an incomplete last window counts
};

/// The largest element of each window. If `indices` is given it becomes their places in the flattened plane (int64).
Tensor max_pool(const char* op, int spatial, const Tensor& x, const PoolOptions& options, Tensor* indices = nullptr);
/// Sums divided by the number of elements, with those of the padding if `count_padding`; or by `divisor` if that is not
/// 0.
Tensor avg_pool(const char* op, int spatial, const Tensor& x, const PoolOptions& options, bool count_padding,
                int64_t divisor);

/// Windows of about equal size that give `size` results, whatever the size of x.
Tensor adaptive_max_pool(const char* op, int spatial, const Tensor& x, const Dims& size, Tensor* indices = nullptr);
Tensor adaptive_avg_pool(const char* op, int spatial, const Tensor& x, const Dims& size);

/// The elements of x at their `indices` in planes of zeros of the given size.
Tensor max_unpool(const char* op, const Tensor& x, const Tensor& indices, const Dims& size);

}  // namespace genesis::ops
