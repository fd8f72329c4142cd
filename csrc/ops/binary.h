// Floating-point functions of two numbers. Integers are converted first.
#pragma once

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

// The angle of the point (x, y), in (-pi, pi].
Tensor atan2(const Operand& y, const Operand& x, Out out = {});
Tensor hypot(const Operand& x, const Operand& y, Out out = {});
// |x| with the sign of y.
Tensor copysign(const Operand& x, const Operand& y, Out out = {});
// log(exp(x) + exp(y)), and the same in base 2.
Tensor logaddexp(const Operand& x, const Operand& y, Out out = {});
Tensor logaddexp2(const Operand& x, const Operand& y, Out out = {});
// x 2^y
Tensor ldexp(const Operand& x, const Operand& y, Out out = {});

}  // namespace genesis::ops
