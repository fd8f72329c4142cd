#include "ops/pointwise.h"

#include "autograd/record.h"
#include "kernels/arithmetic.h"
#include "ops/create.h"

namespace genesis::ops {

// Computes kernel(x, y) in `dtype` over the broadcast shape.
static Tensor zip(const char* op, const kernels::Binary& kernel, const Operand& x, const Operand& y, DType dtype, Out out) {
  Tensor z;
  if (!out && x.tensor && (y.is_scalar() || x.shape() == y.shape())) z = empty_like(*x.tensor, dtype);
  else if (!out && y.tensor && x.is_scalar()) z = empty_like(*y.tensor, dtype);
  else z = destination(op, broadcast_shapes(op, x.shape(), y.shape()), dtype, out);
  kernel(z.view(), x.view(), y.view());
  return deliver(op, std::move(z), out);
}

Tensor add(const Operand& x, const Operand& y, Out out) {
  Tensor z = zip("add", kernels::add, x, y, result_type({x, y}), out);
  return record("add", std::move(z), broadcast(x.or_undefined(), y.or_undefined()), save(),
                [](const Tensor& dz, const Saved&) { return Grads{dz, dz}; });
}

Tensor sub(const Operand& x, const Operand& y, Out out) {
  Tensor z = zip("sub", kernels::sub, x, y, result_type({x, y}), out);
  return record("sub", std::move(z), broadcast(x.or_undefined(), y.or_undefined()), save(),
                [](const Tensor& dz, const Saved& saved) { return Grads{dz, saved.needs(1) ? -dz : Tensor()}; });
}

Tensor mul(const Operand& x, const Operand& y, Out out) {
  Tensor z = zip("mul", kernels::mul, x, y, result_type({x, y}), out);
  if (y.is_scalar())
    return record("mul", std::move(z), inputs(*x.tensor), save(),
                  [s = y.scalar](const Tensor& dz, const Saved&) { return Grads{mul(dz, s)}; });
  if (x.is_scalar())
    return record("mul", std::move(z), inputs(*y.tensor), save(),
                  [s = x.scalar](const Tensor& dz, const Saved&) { return Grads{mul(dz, s)}; });
  return record("mul", std::move(z), broadcast(*x.tensor, *y.tensor), save(*x.tensor, *y.tensor),
                [](const Tensor& dz, const Saved& saved) {
    return Grads{saved.needs(0) ? dz * saved[1] : Tensor(), saved.needs(1) ? dz * saved[0] : Tensor()};
  });
}

Tensor div(const Operand& x, const Operand& y, Out out) {
  Tensor z = zip("div", kernels::div, x, y, floating_type(result_type({x, y})), out);
  if (y.is_scalar())
    return record("div", std::move(z), inputs(*x.tensor), save(),
                  [s = y.scalar](const Tensor& dz, const Saved&) { return Grads{div(dz, s)}; });
  return record("div", z, broadcast(x.or_undefined(), *y.tensor), save(*y.tensor, output(z)),
                [](const Tensor& dz, const Saved& saved) {
    const Tensor dx = dz / saved[0];
    return Grads{dx, saved.needs(1) ? -(dx * saved[1]) : Tensor()};
  });
}

Tensor neg(const Tensor& x, Out out) {
  Tensor y = zip("neg", kernels::mul, x, -1, x.dtype(), out);
  return record("neg", std::move(y), inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{-dy}; });
}

// x.op_(y) for an operator of two operands.
template <auto Op>
static Tensor inplace_zip(const char* op, const Tensor& x, const Operand& y) {
  return inplace(op, x, {&y.or_undefined()}, [&](const Tensor& input, Out out) {
    return Op(input, y.tensor && y.tensor->same(x) ? Operand(input) : y, out);  // x *= x
  });
}
Tensor add_(const Tensor& x, const Operand& y) { return inplace_zip<add>("add_", x, y); }
Tensor sub_(const Tensor& x, const Operand& y) { return inplace_zip<sub>("sub_", x, y); }
Tensor mul_(const Tensor& x, const Operand& y) { return inplace_zip<mul>("mul_", x, y); }
Tensor div_(const Tensor& x, const Operand& y) { return inplace_zip<div>("div_", x, y); }

void add_into(const Tensor& y, const Tensor& a, const Tensor& b) { kernels::add(y.view(), a.view(), b.view()); }

}  // namespace genesis::ops
