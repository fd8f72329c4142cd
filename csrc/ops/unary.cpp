#include "ops/unary.h"

#include <cmath>
#include <numbers>

#include "autograd/record.h"
#include "core/parallel.h"
#include "kernels/elementwise/unary.h"
#include "ops/compare.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/view.h"

namespace genesis::ops {

// Rules compute f' from the conjugate of the saved tensor: all of these functions map conjugates to conjugates.

static Tensor map(const char* op, const kernels::Unary& kernel, const Tensor& x, Out out) {
  const DType dtype = floating_type(x.dtype());
  Tensor y = out ? destination(op, x.shape(), dtype, out) : empty_like(x, dtype);
  if (is_complex(dtype)) [[unlikely]]
    complex_map(op, y.view(), x.view());
  else kernel(y.view(), x.view());
  return deliver(op, std::move(y), out);
}

// f' from x.
template <class Rule>
static Tensor of_input(const char* op, const kernels::Unary& kernel, const Tensor& x, Out out, Rule derivative) {
  return record(op, map(op, kernel, x, out), inputs(x), save(x),
                [derivative](const Tensor& dy, const Saved& saved) { return Grads{derivative(dy, conj(saved[0]))}; });
}
// f' from y = f(x), where that is simpler.
template <class Rule>
static Tensor of_output(const char* op, const kernels::Unary& kernel, const Tensor& x, Out out, Rule derivative) {
  Tensor y = map(op, kernel, x, out);
  return record(op, y, inputs(x), save(output(y)),
                [derivative](const Tensor& dy, const Saved& saved) { return Grads{derivative(dy, conj(saved[0]))}; });
}

using std::numbers::inv_sqrtpi, std::numbers::ln10, std::numbers::ln2;

Tensor exp(const Tensor& x, Out out) {
  return of_output("exp", kernels::exp, x, out, [](const Tensor& dy, const Tensor& y) { return dy * y; });
}
Tensor exp2(const Tensor& x, Out out) {
  return of_output("exp2", kernels::exp2, x, out, [](const Tensor& dy, const Tensor& y) { return dy * y * ln2; });
}
Tensor expm1(const Tensor& x, Out out) {
  return of_output("expm1", kernels::expm1, x, out, [](const Tensor& dy, const Tensor& y) { return dy * (y + 1); });
}
Tensor log(const Tensor& x, Out out) {
  return of_input("log", kernels::log, x, out, [](const Tensor& dy, const Tensor& x) { return dy / x; });
}
Tensor log2(const Tensor& x, Out out) {
  return of_input("log2", kernels::log2, x, out, [](const Tensor& dy, const Tensor& x) { return dy / (x * ln2); });
}
Tensor log10(const Tensor& x, Out out) {
  return of_input("log10", kernels::log10, x, out, [](const Tensor& dy, const Tensor& x) { return dy / (x * ln10); });
}
Tensor log1p(const Tensor& x, Out out) {
  return of_input("log1p", kernels::log1p, x, out, [](const Tensor& dy, const Tensor& x) { return dy / (x + 1); });
}
Tensor sqrt(const Tensor& x, Out out) {
  return of_output("sqrt", kernels::sqrt, x, out, [](const Tensor& dy, const Tensor& y) { return dy / (y * 2); });
}
Tensor rsqrt(const Tensor& x, Out out) {
  return of_output("rsqrt", kernels::rsqrt, x, out,
                   [](const Tensor& dy, const Tensor& y) { return dy * (y * y * y) * -0.5; });
}
Tensor sin(const Tensor& x, Out out) {
  return of_input("sin", kernels::sin, x, out, [](const Tensor& dy, const Tensor& x) { return dy * cos(x); });
}
Tensor cos(const Tensor& x, Out out) {
  return of_input("cos", kernels::cos, x, out, [](const Tensor& dy, const Tensor& x) { return -(dy * sin(x)); });
}
Tensor tan(const Tensor& x, Out out) {
  return of_output("tan", kernels::tan, x, out, [](const Tensor& dy, const Tensor& y) { return dy * (y * y + 1); });
}
Tensor asin(const Tensor& x, Out out) {
  return of_input("asin", kernels::asin, x, out,
                  [](const Tensor& dy, const Tensor& x) { return dy * rsqrt(sub(1, x * x)); });
}
Tensor acos(const Tensor& x, Out out) {
  return of_input("acos", kernels::acos, x, out,
                  [](const Tensor& dy, const Tensor& x) { return -(dy * rsqrt(sub(1, x * x))); });
}
Tensor atan(const Tensor& x, Out out) {
  return of_input("atan", kernels::atan, x, out, [](const Tensor& dy, const Tensor& x) { return dy / (x * x + 1); });
}
Tensor sinh(const Tensor& x, Out out) {
  return of_input("sinh", kernels::sinh, x, out, [](const Tensor& dy, const Tensor& x) { return dy * cosh(x); });
}
Tensor cosh(const Tensor& x, Out out) {
  return of_input("cosh", kernels::cosh, x, out, [](const Tensor& dy, const Tensor& x) { return dy * sinh(x); });
}
Tensor asinh(const Tensor& x, Out out) {
  return of_input("asinh", kernels::asinh, x, out,
                  [](const Tensor& dy, const Tensor& x) { return dy * rsqrt(x * x + 1); });
}
Tensor acosh(const Tensor& x, Out out) {
  // (x - 1)(x + 1), not x^2 - 1, which overflows for large x.
  return of_input("acosh", kernels::acosh, x, out,
                  [](const Tensor& dy, const Tensor& x) { return dy * rsqrt(x - 1) * rsqrt(x + 1); });
}
Tensor atanh(const Tensor& x, Out out) {
  return of_input("atanh", kernels::atanh, x, out,
                  [](const Tensor& dy, const Tensor& x) { return dy / sub(1, x * x); });
}
Tensor erf(const Tensor& x, Out out) {
  return of_input("erf", kernels::erf, x, out,
                  [](const Tensor& dy, const Tensor& x) { return dy * exp(-(x * x)) * (2 * inv_sqrtpi); });
}
Tensor erfc(const Tensor& x, Out out) {
  return of_input("erfc", kernels::erfc, x, out,
                  [](const Tensor& dy, const Tensor& x) { return dy * exp(-(x * x)) * (-2 * inv_sqrtpi); });
}
Tensor erfinv(const Tensor& x, Out out) {
  return of_input("erfinv", kernels::erfinv, x, out,
                  [](const Tensor& dy, const Tensor& x) { return dy * exp(square(erfinv(x))) * (0.5 / inv_sqrtpi); });
}
Tensor lgamma(const Tensor& x, Out out) {
  return of_input("lgamma", kernels::lgamma, x, out, [](const Tensor& dy, const Tensor& x) { return dy * digamma(x); });
}
Tensor digamma(const Tensor& x, Out out) {
  return of_input("digamma", kernels::digamma, x, out,
                  [](const Tensor& dy, const Tensor& x) { return dy * polygamma(1, x); });
}

Tensor polygamma(int64_t order, const Tensor& x, Out out) {
  constexpr int64_t kMost = int64_t{1} << 53;  // computed as a double
  require(order >= 0 && order <= kMost, "polygamma: n must be from 0 to ", kMost, ", got ", order);
  if (order == 0) return digamma(x, out);
  const DType dtype = floating_type(x.dtype());
  Tensor y = out ? destination("polygamma", x.shape(), dtype, out) : empty_like(x, dtype);
  kernels::polygamma(y.view(), x.view(), order);
  return record("polygamma", deliver("polygamma", std::move(y), out), inputs(x), save(x),
                [next = std::min(order + 1, kMost)](const Tensor& dy, const Saved& saved) {
                  return Grads{dy * polygamma(next, saved[0])};
                });
}

Tensor mvlgamma(const char* op, const Tensor& x, int64_t p) {
  constexpr int64_t kMost = int64_t{1} << 24;  // terms of the sum, each about as costly as an exp
  require(p >= 1 && p <= kMost, op, ": p must be from 1 to ", kMost, ", got ", p);
  require<DTypeError>(x.dtype() != DType::Bool, op, ": input must be a number, got bool; use input.float()");
  const auto dimension = static_cast<double>(p);
  Tensor y = add(lgamma(x), dimension * (dimension - 1) / 4 * std::log(std::numbers::pi));
  // Many terms at a time, in an additional dimension.
  const int64_t block = std::max<int64_t>(1, (int64_t{1} << 22) / std::max<int64_t>(1, x.numel()));
  const DType type = floating_type(x.dtype());
  const Tensor column = unsqueeze(x, -1);
  for (int64_t j = 1; j < p; j += block) {
    const Tensor halves = mul(arange(j, std::min(p, j + block), 1, DType::Float64), 0.5);
    y = y + sum(lgamma(sub(column, cast(halves, type))), {-1}, false);
    check_interrupt();
  }
  return y;
}

// The fused backward kernels are for first derivatives only. If the gradient itself is recorded, the rule uses
// operators.
Tensor tanh(const Tensor& x, Out out) {
  return of_output("tanh", kernels::tanh, x, out, [](const Tensor& dy, const Tensor& y) {
    if (grad_mode.enabled || is_complex(dy.dtype())) return dy * sub(1, y * y);
    Tensor dx = empty_like(dy);
    kernels::tanh_backward(dx.view(), dy.view(), y.view());
    return dx;
  });
}

Tensor sigmoid(const Tensor& x, Out out) {
  return of_output("sigmoid", kernels::sigmoid, x, out, [](const Tensor& dy, const Tensor& y) {
    if (grad_mode.enabled || is_complex(dy.dtype())) return dy * y * sub(1, y);
    Tensor dx = empty_like(dy);
    kernels::sigmoid_backward(dx.view(), dy.view(), y.view());
    return dx;
  });
}

Tensor logit(const Tensor& x, std::optional<double> eps) {
  Tensor z = cast(x, floating_type(x.dtype()));
  if (eps) z = clamp(z, *eps, 1 - *eps);
  return log(z / sub(1, z));
}

// At 0 the quotient is replaced by its series, so that both derivatives are correct there.
Tensor sinc(const Tensor& x) {
  const Tensor z = mul(x, std::numbers::pi);
  const Tensor zero = eq(z, 0);
  const Tensor safe = where(zero, 1.0, z);
  return where(zero, sub(1, z * z / 6), sin(safe) / safe);
}

}  // namespace genesis::ops
