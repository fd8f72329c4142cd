#include "ops/literal.h"

#include "kernels/elementwise/literal.h"

namespace genesis::ops {

Tensor literal(const void* values, const Dims& shape, DType dtype) {
  Tensor y = empty(shape, dtype);
  kernels::write_literal(y.view(), {static_cast<const char*>(values), y.numel() * itemsize(dtype)});
  return y;
}

}  // namespace genesis::ops
