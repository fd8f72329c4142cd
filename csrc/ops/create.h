// New tensors, and copies of tensors.
#pragma once

#include "ops/operand.h"

namespace genesis::ops {

Tensor full(const Dims& shape, Scalar value, DType dtype);
Tensor zeros(const Dims& shape, DType dtype);
Tensor ones(const Dims& shape, DType dtype);
Tensor scalar_tensor(Scalar value, DType dtype);
Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype);  // not initialised
Tensor full_like(const Tensor& x, Scalar value, DType dtype);               // in x's layout if that is dense

// start, start + step, ... before `end`.
Tensor arange(Scalar start, Scalar end, Scalar step, DType dtype);
// `steps` numbers from start to end, both included; logspace: base to those powers.
Tensor linspace(double start, double end, int64_t steps, DType dtype);
Tensor logspace(double start, double end, int64_t steps, double base, DType dtype);
Tensor eye(int64_t n, int64_t m, DType dtype);

Tensor clone(const Tensor& x);       // in x's layout if that is dense
Tensor contiguous(const Tensor& x);  // x itself if it is contiguous
// A tensor like x on the meta device. It has no gradient, because a gradient would have no values.
Tensor to_meta(const Tensor& x, DType dtype);
Tensor cast(const Tensor& x, DType dtype);

Tensor copy_(const Tensor& x, const Tensor& source);  // broadcasts and converts
Tensor fill_(const Tensor& x, Scalar value);
Tensor fill_(const Tensor& x, const Tensor& value);  // of one element; differentiable with respect to it
Tensor zero_(const Tensor& x);

// Raises if `value` would change beyond rounding: an integer out of the dtype's range, NaN as an integer.
void require_representable(const char* op, Scalar value, DType dtype);
// The same where PyTorch converts a number, or the number in a 0-d tensor, before it writes it (masked_fill,
// index_fill, scatter, clamp, threshold): half types must not overflow either.
void require_fits(const char* op, const Operand& value, DType dtype);

}  // namespace genesis::ops
