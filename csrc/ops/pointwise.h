// Arithmetic over broadcast operands, and the C++ operators that rules use.
#pragma once

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

Tensor add(const Operand& x, const Operand& y, Out out = {});
Tensor sub(const Operand& x, const Operand& y, Out out = {});
Tensor mul(const Operand& x, const Operand& y, Out out = {});
Tensor div(const Operand& x, const Operand& y, Out out = {});
// x + alpha y, x - alpha y.
Tensor add(const Operand& x, const Operand& y, Scalar alpha, Out out = {});
Tensor sub(const Operand& x, const Operand& y, Scalar alpha, Out out = {});
Tensor neg(const Tensor& x, Out out = {});
Tensor abs(const Tensor& x, Out out = {});
Tensor sign(const Tensor& x, Out out = {});
Tensor square(const Tensor& x, Out out = {});
Tensor reciprocal(const Tensor& x, Out out = {});

// x + value a b, x + value a / b.
Tensor addcmul(const Operand& x, const Operand& a, const Operand& b, Scalar value, Out out = {});
Tensor addcdiv(const Operand& x, const Operand& a, const Operand& b, Scalar value, Out out = {});
// x + weight (y - x)
Tensor lerp(const Operand& x, const Operand& y, const Operand& weight, Out out = {});

Tensor add_(const Tensor& x, const Operand& y, Scalar alpha = 1);
Tensor sub_(const Tensor& x, const Operand& y, Scalar alpha = 1);
Tensor mul_(const Tensor& x, const Operand& y);
Tensor div_(const Tensor& x, const Operand& y);

// y = a + b into existing memory, outside any graph (the engine's accumulation).
void add_into(const Tensor& y, const Tensor& a, const Tensor& b);

inline Tensor operator+(const Tensor& x, const Operand& y) { return add(x, y); }
inline Tensor operator-(const Tensor& x, const Operand& y) { return sub(x, y); }
inline Tensor operator*(const Tensor& x, const Operand& y) { return mul(x, y); }
inline Tensor operator/(const Tensor& x, const Operand& y) { return div(x, y); }
inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace genesis::ops
