// Elementwise operators over broadcast operands, and the C++ operators that rules are written in.
#pragma once

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

Tensor add(const Operand& x, const Operand& y, Out out = {});
Tensor sub(const Operand& x, const Operand& y, Out out = {});
Tensor mul(const Operand& x, const Operand& y, Out out = {});
Tensor div(const Operand& x, const Operand& y, Out out = {});
Tensor neg(const Tensor& x, Out out = {});

Tensor add_(const Tensor& x, const Operand& y);
Tensor sub_(const Tensor& x, const Operand& y);
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
