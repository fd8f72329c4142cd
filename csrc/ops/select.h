// Selection between values: where, maximum, minimum, clamp.
#pragma once

#include <optional>

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

Tensor where(const Tensor& condition, const Operand& x, const Operand& y, Out out = {});

// NaN if either operand is NaN. The gradient is halved for equal operands.
Tensor maximum(const Operand& x, const Operand& y, Out out = {});
Tensor minimum(const Operand& x, const Operand& y, Out out = {});

// NaN only if both operands are NaN. For equal operands, the gradient goes to x.
Tensor fmax(const Operand& x, const Operand& y, Out out = {});
Tensor fmin(const Operand& x, const Operand& y, Out out = {});

// Bounds are numbers or tensors, or absent. The gradient is passed at the bounds.
Tensor clamp(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max, Out out = {});

// 0, `values` or 1 for negative, zero or positive x.
Tensor heaviside(const Operand& x, const Operand& values, Out out = {});
// Replaces NaN and infinities; the defaults for infinities are the largest and the smallest finite number.
Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf,
                  Out out = {});

}  // namespace genesis::ops
