// Operands for kernels that require contiguous memory, with half precision converted to float32.
#pragma once

#include "autograd/mode.h"
#include "ops/create.h"

namespace genesis::ops {

inline Tensor dense(const Tensor& x) {
  const WithGradMode off(false);
  return contiguous(is_half(x.dtype()) ? cast(x, DType::Float32) : x);
}
inline Tensor narrowed(const Tensor& y, DType dtype) {
  const WithGradMode off(false);
  return y.dtype() == dtype ? y : cast(y, dtype);
}

}  // namespace genesis::ops
