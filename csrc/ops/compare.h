// Comparisons, logical operations and tests of single values. Results are bool and have no gradient.
#pragma once

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

Tensor eq(const Operand& x, const Operand& y, Out out = {});
Tensor ne(const Operand& x, const Operand& y, Out out = {});
Tensor lt(const Operand& x, const Operand& y, Out out = {});
Tensor le(const Operand& x, const Operand& y, Out out = {});
Tensor gt(const Operand& x, const Operand& y, Out out = {});
Tensor ge(const Operand& x, const Operand& y, Out out = {});

// Operands are tested for nonzero.
Tensor logical_and(const Operand& x, const Operand& y, Out out = {});
Tensor logical_or(const Operand& x, const Operand& y, Out out = {});
Tensor logical_xor(const Operand& x, const Operand& y, Out out = {});
Tensor logical_not(const Tensor& x, Out out = {});

Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isposinf(const Tensor& x, Out out = {});
Tensor isneginf(const Tensor& x, Out out = {});
Tensor isfinite(const Tensor& x);
Tensor signbit(const Tensor& x, Out out = {});

// |x - y| <= atol + rtol |y|.
Tensor isclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan);
bool allclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan);
// Same shape and same values.
bool equal(const Tensor& x, const Tensor& y);

}  // namespace genesis::ops
