#include "ops/pointwise.h"

#include "kernels/complex/complex.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/elementwise/binary.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/power.h"

namespace genesis::ops {

static Tensor conjugate(const Operand& x) {
  return x.tensor ? conj(*x.tensor) : scalar_tensor(x.scalar.conj(), scalar_dtype(x.scalar));
}

Tensor add(const Operand& x, const Operand& y, Out out) {
  Tensor z = zip("add", kernels::add, x, y, common_type(x, y), out);
  return record("add", std::move(z), broadcast(x.or_undefined(), y.or_undefined()), save(),
                [](const Tensor& dz, const Saved&) { return Grads{dz, dz}; });
}

static void refuse_bool_sub(const Operand& x, const Operand& y) {
  const auto is_bool = [](const Operand& o) { return o.tensor && o.tensor->dtype() == DType::Bool; };
  require<DTypeError>(!is_bool(x) && !is_bool(y),
                      "sub: - is not defined for bool; use logical_xor() or ^ for the "
                      "difference of two masks, logical_not() or ~ to invert one");
}

Tensor sub(const Operand& x, const Operand& y, Out out) {
  refuse_bool_sub(x, y);
  Tensor z = zip("sub", kernels::sub, x, y, common_type(x, y), out);
  return record("sub", std::move(z), broadcast(x.or_undefined(), y.or_undefined()), save(),
                [](const Tensor& dz, const Saved& saved) { return Grads{dz, saved.needs(1) ? -dz : Tensor()}; });
}

static Tensor add_scaled(const char* op, const Operand& x, const Operand& y, Scalar alpha, Out out) {
  const DType dtype = common_type(x, y);
  require<DTypeError>(is_differentiable(dtype) || !alpha.is_inexact(), op, ": alpha must be an integer for ", dtype,
                      " tensors, got ", alpha, "; convert a tensor with float() first");
  if (is_complex(dtype)) return add(x, mul(y, alpha), out);
  const kernels::Factor factor{alpha.to_double(), alpha.is_float() ? 0 : alpha.i};
  Tensor z = zip(op, [&](View z, View a, View b) { kernels::add_scaled(z, a, b, factor); }, x, y, dtype, out);
  return record(
      op, std::move(z), broadcast(x.or_undefined(), y.or_undefined()), save(),
      [alpha](const Tensor& dz, const Saved& saved) { return Grads{dz, saved.needs(1) ? dz * alpha : Tensor()}; });
}

Tensor add(const Operand& x, const Operand& y, Scalar alpha, Out out) {
  return alpha == Scalar(1) ? add(x, y, out) : add_scaled("add", x, y, alpha, out);
}

Tensor sub(const Operand& x, const Operand& y, Scalar alpha, Out out) {
  if (alpha == Scalar(1)) return sub(x, y, out);
  refuse_bool_sub(x, y);
  return add_scaled("sub", x, y, -alpha, out);
}

Tensor mul(const Operand& x, const Operand& y, Out out) {
  Tensor z = zip("mul", kernels::mul, x, y, common_type(x, y), out);
  if (y.is_scalar())
    return record("mul", std::move(z), inputs(x.or_undefined()), save(),
                  [s = y.scalar.conj()](const Tensor& dz, const Saved&) { return Grads{mul(dz, s)}; });
  if (x.is_scalar())
    return record("mul", std::move(z), inputs(*y.tensor), save(),
                  [s = x.scalar.conj()](const Tensor& dz, const Saved&) { return Grads{mul(dz, s)}; });
  return record("mul", std::move(z), broadcast(*x.tensor, *y.tensor), save(*x.tensor, *y.tensor),
                [](const Tensor& dz, const Saved& saved) {
                  return Grads{saved.needs(0) ? dz * conj(saved[1]) : Tensor(),
                               saved.needs(1) ? dz * conj(saved[0]) : Tensor()};
                });
}

Tensor div(const Operand& x, const Operand& y, Out out) {
  Tensor z = zip("div", kernels::div, x, y, floating_type(common_type(x, y)), out);
  if (y.is_scalar())
    return record("div", std::move(z), inputs(x.or_undefined()), save(),
                  [s = y.scalar.conj()](const Tensor& dz, const Saved&) { return Grads{div(dz, s)}; });
  return record_zip("div", std::move(z), x, y, [](const Tensor& dz, const Kept& x, const Kept& y, const Saved& saved) {
    const Tensor dx = dz / conjugate(y);
    return Grads{dx, saved.needs(1) ? -(dx * conj(div(x, y))) : Tensor()};
  });
}

Tensor neg(const Tensor& x, Out out) {
  require<DTypeError>(x.dtype() != DType::Bool,
                      "neg: - is not defined for bool; use logical_not() or ~ to invert a mask");
  Tensor y = map("neg", kernels::neg, x, x.dtype(), out);
  return record("neg", std::move(y), inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{-dy}; });
}

Tensor abs(const Tensor& x, Out out) {
  if (is_complex(x.dtype())) {
    Tensor y = result_memory("abs", x, real_type(x.dtype()), out);
    kernels::complex_abs(y.view(), Source(x, y));
    return record("abs", deliver("abs", std::move(y), out), inputs(x), save(x),
                  [](const Tensor& dy, const Saved& saved) { return Grads{dy * sgn(saved[0])}; });
  }
  Tensor y = map("abs", kernels::abs, x, x.dtype(), out);
  return record("abs", std::move(y), inputs(x), save(x), [](const Tensor& dy, const Saved& saved) {
    return Grads{dy * sign(saved[0])};  // 0 at 0
  });
}

Tensor sign(const Tensor& x, Out out) {
  require<DTypeError>(!is_complex(x.dtype()), "sign: not defined for complex numbers, got ", x.dtype(),
                      "; use sgn(), which is z / |z|");
  Tensor y = map("sign", kernels::sign, x, x.dtype(), out);
  return record("sign", std::move(y), inputs(x), save(),
                [](const Tensor& dy, const Saved&) { return Grads{zeros_like(dy)}; });
}

Tensor square(const Tensor& x, Out out) {
  const DType dtype = x.dtype() == DType::Bool ? DType::Int64 : x.dtype();
  Tensor y = map("square", kernels::square, x, dtype, out);
  return record("square", std::move(y), inputs(x), save(x),
                [](const Tensor& dy, const Saved& saved) { return Grads{pow_backward(dy, conj(saved[0]), 2)}; });
}

Tensor reciprocal(const Tensor& x, Out out) {
  Tensor y = map("reciprocal", kernels::reciprocal, x, floating_type(x.dtype()), out);
  return record("reciprocal", y, inputs(x), save(output(y)),
                [](const Tensor& dy, const Saved& saved) { return Grads{-(dy * square(conj(saved[0])))}; });
}

Tensor addcmul(const Operand& x, const Operand& a, const Operand& b, Scalar value, Out out) {
  const DType dtype = result_type({x, a, b});
  require<DTypeError>(dtype != DType::Bool, "addcmul: not defined for bool; convert a tensor first");
  require<DTypeError>(is_differentiable(dtype) || !value.is_inexact(), "addcmul: value must be an integer for ", dtype,
                      " tensors, got ", value, "; convert a tensor with float() first");
  if (is_complex(dtype)) return add(x, mul(mul(a, b), value), out);
  const auto kernel = [&](View y, View x, View a, View b) {
    if (is_floating(dtype)) kernels::addcmul(y, x, a, b, value.to_double());
    else kernels::addcmul_integer(y, x, a, b, value.i);
  };
  return record_zip("addcmul", zip("addcmul", kernel, x, a, b, dtype, out), x, a, b,
                    [value](const Tensor& dy, const Kept&, const Kept& a, const Kept& b, const Saved& saved) {
                      return Grads{dy, saved.needs(1) ? dy * b * value : Tensor(),
                                   saved.needs(2) ? dy * a * value : Tensor()};
                    });
}

Tensor addcdiv(const Operand& x, const Operand& a, const Operand& b, Scalar value, Out out) {
  const DType dtype = result_type({x, a, b});
  if (is_complex(dtype)) return add(x, mul(div(a, b), value), out);
  require<DTypeError>(is_floating(result_type({a, b})), "addcdiv: division of integers, ", result_type({a, b}),
                      "; convert one of the tensors with float() first");
  const auto kernel = [&](View y, View x, View a, View b) { kernels::addcdiv(y, x, a, b, value.to_double()); };
  return record_zip("addcdiv", zip("addcdiv", kernel, x, a, b, dtype, out), x, a, b,
                    [value](const Tensor& dy, const Kept&, const Kept& a, const Kept& b, const Saved& saved) {
                      Tensor da, db;
                      if (saved.needs(1) || saved.needs(2)) da = dy * value / b;
                      if (saved.needs(2)) db = -(da * div(a, b));
                      return Grads{dy, da, db};
                    });
}

Tensor lerp(const Operand& x, const Operand& y, const Operand& weight, Out out) {
  const DType dtype = result_type({x, y, weight});
  if (is_complex(dtype)) return add(x, mul(weight, sub(y, x)), out);
  require<DTypeError>(is_floating(result_type({x, y})), "lerp: the ends must be floating, got ", result_type({x, y}),
                      "; use float()");
  return record_zip("lerp", zip("lerp", kernels::lerp, x, y, weight, dtype, out), x, y, weight,
                    [](const Tensor& dz, const Kept& x, const Kept& y, const Kept& weight, const Saved& saved) {
                      const DType type = dz.dtype();
                      const Operand w = weight.number(type);
                      // A number remains one; otherwise it would be rounded to the default dtype.
                      const auto rest = [&] {
                        return w.is_scalar() ? dz * Scalar(1 - w.scalar.to_double()) : dz * sub(1, w);
                      };
                      return Grads{saved.needs(0) ? rest() : Tensor(), saved.needs(1) ? dz * weight : Tensor(),
                                   saved.needs(2) ? dz * sub(y.number(type), x.number(type)) : Tensor()};
                    });
}

Tensor add_(const Tensor& x, const Operand& y, Scalar alpha) {
  return inplace("add_", x, {&y.or_undefined()}, [&](const Tensor& input, Out out) {
    return add(input, y.tensor && y.tensor->same(x) ? Operand(input) : y, alpha, out);
  });
}
Tensor sub_(const Tensor& x, const Operand& y, Scalar alpha) {
  return inplace("sub_", x, {&y.or_undefined()}, [&](const Tensor& input, Out out) {
    return sub(input, y.tensor && y.tensor->same(x) ? Operand(input) : y, alpha, out);
  });
}
Tensor mul_(const Tensor& x, const Operand& y) { return inplace_zip<mul>("mul_", x, y); }
Tensor div_(const Tensor& x, const Operand& y) { return inplace_zip<div>("div_", x, y); }

void add_into(const Tensor& y, const Tensor& a, const Tensor& b) {
  (is_complex(y.dtype()) ? kernels::complex_add : kernels::add)(y.view(), a.view(), b.view());
}

}  // namespace genesis::ops
