// Elementwise functions of one number. Integers are converted to floating point first.
#pragma once

#include <numbers>
#include <optional>

#include "ops/inplace.h"
#include "ops/pointwise.h"

namespace genesis::ops {

Tensor exp(const Tensor& x, Out out = {});
Tensor exp2(const Tensor& x, Out out = {});
Tensor expm1(const Tensor& x, Out out = {});
Tensor log(const Tensor& x, Out out = {});
Tensor log2(const Tensor& x, Out out = {});
Tensor log10(const Tensor& x, Out out = {});
Tensor log1p(const Tensor& x, Out out = {});
Tensor sqrt(const Tensor& x, Out out = {});
Tensor rsqrt(const Tensor& x, Out out = {});
Tensor sin(const Tensor& x, Out out = {});
Tensor cos(const Tensor& x, Out out = {});
Tensor tan(const Tensor& x, Out out = {});
Tensor asin(const Tensor& x, Out out = {});
Tensor acos(const Tensor& x, Out out = {});
Tensor atan(const Tensor& x, Out out = {});
Tensor sinh(const Tensor& x, Out out = {});
Tensor cosh(const Tensor& x, Out out = {});
Tensor tanh(const Tensor& x, Out out = {});
Tensor asinh(const Tensor& x, Out out = {});
Tensor acosh(const Tensor& x, Out out = {});
Tensor atanh(const Tensor& x, Out out = {});
Tensor erf(const Tensor& x, Out out = {});
Tensor erfc(const Tensor& x, Out out = {});
Tensor erfinv(const Tensor& x, Out out = {});
Tensor lgamma(const Tensor& x, Out out = {});
Tensor digamma(const Tensor& x, Out out = {});
/// The order-th derivative of digamma.
Tensor polygamma(int64_t order, const Tensor& x, Out out = {});
/// The logarithm of the multivariate gamma function of dimension p.
Tensor mvlgamma(const char* op, const Tensor& x, int64_t p);
Tensor sigmoid(const Tensor& x, Out out = {});
Tensor logit(const Tensor& x, std::optional<double> eps);  // x is clamped to [eps, 1 - eps]
Tensor sinc(const Tensor& x);                              // sin(pi x) / (pi x), 1 at 0
inline Tensor deg2rad(const Tensor& x) { return mul(x, std::numbers::pi / 180); }
inline Tensor rad2deg(const Tensor& x) { return mul(x, 180 / std::numbers::pi); }

}  // namespace genesis::ops
