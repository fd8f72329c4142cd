// Matrix products. Strided and transposed operands are used without a copy.
#pragma once

#include <string>
#include <vector>

#include "core/scalar.h"
#include "ops/inplace.h"

namespace genesis::ops {

/// Over the last two dimensions, broadcasting the others; a 1-d operand is a row on the left, a column on the right.
Tensor matmul(const Tensor& x, const Tensor& y);
Tensor mm(const Tensor& x, const Tensor& y);
Tensor bmm(const Tensor& x, const Tensor& y);
Tensor mv(const Tensor& x, const Tensor& v);
Tensor dot(const Tensor& x, const Tensor& y);
Tensor outer(const Tensor& x, const Tensor& y);
Tensor inner(const Tensor& x, const Tensor& y);
/// beta * input + alpha * (x @ y)
Tensor addmm(const Tensor& input, const Tensor& x, const Tensor& y, Scalar beta = 1, Scalar alpha = 1);
Tensor addmv(const Tensor& input, const Tensor& x, const Tensor& v, Scalar beta = 1, Scalar alpha = 1);
Tensor addr(const Tensor& input, const Tensor& x, const Tensor& y, Scalar beta = 1, Scalar alpha = 1);
Tensor baddbmm(const Tensor& input, const Tensor& x, const Tensor& y, Scalar beta = 1, Scalar alpha = 1);
Tensor addbmm(const Tensor& input, const Tensor& x, const Tensor& y, Scalar beta = 1, Scalar alpha = 1);
/// x @ weight.T + bias; bias may be undefined.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace genesis::ops
