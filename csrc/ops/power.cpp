#include "ops/power.h"

#include <cmath>

#include "kernels/elementwise/power.h"
#include "ops/compare.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/select.h"
#include "ops/unary.h"

namespace genesis::ops {

Tensor pow_backward(const Tensor& dy, const Tensor& x, Scalar exponent) {
  if (exponent == Scalar(0)) return zeros_like(dy);
  if (is_complex(dy.dtype()) || is_complex(x.dtype())) {
    const std::complex<double> p = std::conj(exponent.to_complex());
    return dy * (pow(x, exponent.is_complex() ? Operand(p - 1.0) : Operand(p.real() - 1)) * Scalar(p));
  }
  const double p = exponent.to_double();
  if (grad_mode.enabled) return dy * (pow(x, p - 1) * p);
  Tensor dx = empty_like(dy);
  kernels::pow_scalar_backward(dx.view(), dy.view(), x.view(), p);
  return dx;
}

static Tensor tensor_to_scalar(const Tensor& x, Scalar exponent, Out out) {
  const DType dtype = common_type(x, exponent);
  if (is_complex(dtype)) {
    Tensor y = zip("pow", kernels::pow, x, exponent, dtype, out);
    return record("pow", std::move(y), inputs(x), save(x), [exponent](const Tensor& dy, const Saved& saved) {
      return Grads{pow_backward(dy, conj(saved[0]), exponent)};
    });
  }
  require(is_floating(dtype) || exponent.i >= 0,
          "pow: integers to negative integer powers are not integers; "
          "convert the tensor with float() first, got exponent ",
          exponent.i);
  Tensor y = map("pow", [&](View y, View x) { kernels::pow_scalar(y, x, exponent.to_double()); }, x, dtype, out);
  return record("pow", std::move(y), inputs(x), save(x), [exponent](const Tensor& dy, const Saved& saved) {
    return Grads{pow_backward(dy, saved[0], exponent)};
  });
}

static Tensor scalar_to_tensor(Scalar base, const Tensor& y, Out out) {
  Tensor z = zip("pow", kernels::pow, base, y, common_type(base, y), out);
  return record("pow", z, inputs(y), save(y, output(z)), [base](const Tensor& dz, const Saved& saved) {
    if (is_complex(dz.dtype())) {
      const std::complex<double> s = base.to_complex();
      if (s == 0.0) return Grads{zeros_like(dz)};
      return Grads{dz * (conj(saved[1]) * Scalar(std::conj(std::log(s))))};
    }
    const double s = base.to_double();
    if (s != 0) return Grads{dz * (saved[1] * std::log(s))};
    // 0^y is constant for y >= 0, where log(0) would yield 0 * inf.
    const Tensor y = saved[0];
    return Grads{dz * (saved[1] * where(ge(y, 0), zeros_like(y), std::log(s)))};
  });
}

Tensor pow(const Operand& x, const Operand& y, Out out) {
  if (y.is_scalar() && x.tensor) return tensor_to_scalar(*x.tensor, y.scalar, out);
  if (x.is_scalar() && y.tensor) return scalar_to_tensor(x.scalar, *y.tensor, out);
  Tensor z = zip("pow", kernels::pow, x, y, common_type(x, y), out);
  return record("pow", z, broadcast(x.or_undefined(), y.or_undefined()),
                save(x.or_undefined(), y.or_undefined(), output(z)), [](const Tensor& dz, const Saved& saved) {
                  const Tensor x = conj(saved[0]), y = conj(saved[1]);
                  Tensor dx, dy;
                  if (is_complex(dz.dtype())) {
                    const Tensor zero = eq(x, 0), power = eq(y, 0);
                    if (saved.needs(0)) dx = dz * where(power, 0.0, y * pow(x, y - 1));
                    if (saved.needs(1)) dy = dz * where(zero, 0.0, conj(saved[2]) * log(where(zero, 1.0, x)));
                    return Grads{dx, dy};
                  }
                  if (saved.needs(0)) {
                    // y x^(y - 1) is 0 for y = 0, even at x = 0, where it would be 0 * inf.
                    const Tensor one = logical_and(eq(y, 0), logical_not(gt(abs(x), 0)));
                    dx = dz * (y * pow(x, where(one, 1.0, y) - 1));
                  }
                  if (saved.needs(1)) {
                    // 0^y is constant for y >= 0.
                    const Tensor constant = logical_and(eq(x, 0), ge(y, 0));
                    dy = dz * xlogy(saved[2], where(constant, 1.0, x));
                  }
                  return Grads{dx, dy};
                });
}

Tensor pow_(const Tensor& x, const Operand& y) { return inplace_zip<pow>("pow_", x, y); }

Tensor float_power(const Operand& x, const Operand& y, Out out) {
  const auto wide = [](const Operand& o) {
    const auto type = [](DType t) { return is_complex(t) ? DType::Complex128 : DType::Float64; };
    return o.tensor ? cast(*o.tensor, type(o.tensor->dtype())) : scalar_tensor(o.scalar, type(scalar_dtype(o.scalar)));
  };
  if (y.is_scalar() && x.tensor) return pow(wide(x), y.scalar.is_complex() ? y.scalar : y.scalar.to_double(), out);
  return pow(wide(x), wide(y), out);
}

Tensor xlogy(const Operand& x, const Operand& y, Out out) {
  return record_zip("xlogy", zip("xlogy", kernels::xlogy, x, y, floating_type(common_type(x, y)), out), x, y,
                    [](const Tensor& dz, const Kept& x, const Kept& y, const Saved& saved) {
                      Tensor dx;
                      if (saved.needs(0)) {
                        const Operand b = y;
                        // If log(y) is undefined, the gradient is 0.
                        const Tensor undefined = logical_and(eq(x, 0), le(b, 0));
                        const Tensor base =
                            b.tensor ? *b.tensor : cast(scalar_tensor(b.scalar, DType::Float64), dz.dtype());
                        dx = dz * xlogy(1.0, where(undefined, 1.0, base));
                      }
                      return Grads{dx, saved.needs(1) ? dz * div(x, y) : Tensor()};
                    });
}

}  // namespace genesis::ops
