// New tensors, and copies of tensors.
#pragma once

#include "core/scalar.h"
#include "core/tensor.h"

namespace genesis::ops {

Tensor full(const Dims& shape, Scalar value, DType dtype);
Tensor zeros(const Dims& shape, DType dtype);
Tensor ones(const Dims& shape, DType dtype);
Tensor scalar_tensor(Scalar value, DType dtype);

Tensor clone(const Tensor& x);       // in x's layout where that is dense
Tensor contiguous(const Tensor& x);  // x itself where it already is
Tensor cast(const Tensor& x, DType dtype);

Tensor copy_(const Tensor& x, const Tensor& source);  // broadcasts and converts
Tensor fill_(const Tensor& x, Scalar value);
Tensor zero_(const Tensor& x);

}  // namespace genesis::ops
