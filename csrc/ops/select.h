// Choosing between values: where, extrema of two, clamp.
#pragma once

#include <optional>

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

Tensor where(const Tensor& condition, const Operand& x, const Operand& y, Out out = {});

// NaN if either operand is. The gradient is halved where they are equal.
Tensor maximum(const Operand& x, const Operand& y, Out out = {});
Tensor minimum(const Operand& x, const Operand& y, Out out = {});

// NaN only if both are. The gradient goes to x where they are equal.
Tensor fmax(const Operand& x, const Operand& y, Out out = {});
Tensor fmin(const Operand& x, const Operand& y, Out out = {});

// Bounds are numbers or tensors, or absent. The gradient passes at the bounds.
Tensor clamp(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max, Out out = {});

// 0, `values` or 1, as x is negative, zero or positive.
Tensor heaviside(const Operand& x, const Operand& values, Out out = {});
// Replaces NaN and the infinities; absent, the largest and the smallest finite number stand for those.
Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf,
                  Out out = {});

}  // namespace genesis::ops
