// Powers.
#pragma once

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

Tensor pow(const Operand& x, const Operand& y, Out out = {});
Tensor pow_(const Tensor& x, const Operand& y);
// The same, computed in float64.
Tensor float_power(const Operand& x, const Operand& y, Out out = {});
// The gradient of x^exponent: dy * exponent * x^(exponent - 1), and 0 for exponent 0.
Tensor pow_backward(const Tensor& dy, const Tensor& x, Scalar exponent);

// x log(y), or 0 for x = 0, whatever y is (unless NaN).
Tensor xlogy(const Operand& x, const Operand& y, Out out = {});

}  // namespace genesis::ops
