// Reading and writing where a mask is true. The mask is bool and broadcasts with the tensor.
#pragma once

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

// x with `value` (a number or a 0-d tensor) where the mask is true.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value, Out out = {});
// The elements of x where the mask is true, as a vector.
Tensor masked_select(const Tensor& x, const Tensor& mask);
// x with consecutive elements of `source` where the mask is true.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source, Out out = {});

Tensor masked_fill_(const Tensor& x, const Tensor& mask, const Operand& value);
Tensor masked_scatter_(const Tensor& x, const Tensor& mask, const Tensor& source);

}  // namespace genesis::ops
