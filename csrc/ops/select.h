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

// Bounds are numbers or tensors, or absent. The gradient passes at the bounds.
Tensor clamp(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max, Out out = {});

}  // namespace genesis::ops
