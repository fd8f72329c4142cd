// Bitwise operations, gcd and lcm of integers. bool is accepted where it is meaningful; results have no gradient.
#pragma once

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

Tensor bitwise_and(const Operand& x, const Operand& y, Out out = {});
Tensor bitwise_or(const Operand& x, const Operand& y, Out out = {});
Tensor bitwise_xor(const Operand& x, const Operand& y, Out out = {});
Tensor bitwise_not(const Tensor& x, Out out = {});
Tensor bitwise_left_shift(const Operand& x, const Operand& y, Out out = {});
Tensor bitwise_right_shift(const Operand& x, const Operand& y, Out out = {});
Tensor gcd(const Operand& x, const Operand& y, Out out = {});
Tensor lcm(const Operand& x, const Operand& y, Out out = {});

}  // namespace genesis::ops
