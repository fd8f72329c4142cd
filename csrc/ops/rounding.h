// Rounding, and division with an integer quotient. Integers stay integers; dividing one by zero raises DivisionError.
#pragma once

#include <optional>

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

// No-ops for integers.
Tensor floor(const Tensor& x, Out out = {});
Tensor ceil(const Tensor& x, Out out = {});
Tensor trunc(const Tensor& x, Out out = {});
Tensor round(const Tensor& x, int64_t decimals = 0, Out out = {});  // ties to even
Tensor frac(const Tensor& x, Out out = {});

enum class Rounding { Floor, Trunc };
Tensor div(const Operand& x, const Operand& y, std::optional<Rounding> rounding, Out out = {});
Tensor floor_divide(const Operand& x, const Operand& y, Out out = {});
// The remainder of floor_divide, with the sign of y; and of truncating division, with the sign of x.
Tensor remainder(const Operand& x, const Operand& y, Out out = {});
Tensor fmod(const Operand& x, const Operand& y, Out out = {});

// x = mantissa * 2^exponent, 0.5 <= |mantissa| < 1; the exponent, int32, has no gradient.
struct Frexp {
  Tensor mantissa, exponent;
};
Frexp frexp(const Tensor& x);
// The next representable number after x towards y. No gradient.
Tensor nextafter(const Tensor& x, const Tensor& y);

}  // namespace genesis::ops
