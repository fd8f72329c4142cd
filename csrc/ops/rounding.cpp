#include "ops/rounding.h"

#include <cmath>
#include <limits>

#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/rounding.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/select.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

// A function that is constant almost everywhere: its gradient is zero.
template <class Kernel>
static Tensor step(const char* op, const Kernel& kernel, const Tensor& x, Out out) {
  require<DTypeError>(x.dtype() != DType::Bool, op, ": not defined for bool");
  const auto run = [&](View y, View v) { is_integral(v.dtype) ? kernels::copy(y, v) : kernel(y, v); };
  Tensor y = map(op, run, x, x.dtype(), out);
  return record(op, std::move(y), inputs(x), save(),
                [](const Tensor& dy, const Saved&) { return Grads{zeros_like(dy)}; });
}

Tensor floor(const Tensor& x, Out out) { return step("floor", kernels::floor, x, out); }
Tensor ceil(const Tensor& x, Out out) { return step("ceil", kernels::ceil, x, out); }
Tensor trunc(const Tensor& x, Out out) { return step("trunc", kernels::trunc, x, out); }

Tensor round(const Tensor& x, int64_t decimals, Out out) {
  if (decimals == 0) return step("round", kernels::round, x, out);
  require<DTypeError>(is_floating(x.dtype()), "round: decimals= needs a floating tensor, got ", x.dtype(),
                      "; use float()");
  return step("round", [&](View y, View v) { kernels::round_decimals(y, v, decimals); }, x, out);
}

Tensor frac(const Tensor& x, Out out) {
  require_floating("frac", "input", x);
  Tensor y = map("frac", kernels::frac, x, x.dtype(), out);
  return record("frac", std::move(y), inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

// An integer division computes into new memory instead of `out`: if a divisor is zero, nothing has been overwritten.
static Tensor divide(const char* op, const kernels::Divide& kernel, const Operand& x, const Operand& y, Out out) {
  const DType dtype = common_type(x, y);
  if (is_complex(dtype)) refuse_complex(op, dtype);
  require<DTypeError>(dtype != DType::Bool, op, ": not defined for bool; convert a tensor first");
  bool zero = false;
  const auto run = [&](View z, View a, View b) { zero = kernel(z, a, b) && !on_meta; };
  if (is_floating(dtype)) return zip(op, run, x, y, dtype, out);
  Tensor z = zip(op, run, Fitted(x, dtype), Fitted(y, dtype), dtype, {});
  require<DivisionError>(!zero, op, ": integer division by zero; convert a tensor with float() to get inf or nan");
  return deliver(op, std::move(z), out);
}

Tensor div(const Operand& x, const Operand& y, std::optional<Rounding> rounding, Out out) {
  if (!rounding) return div(x, y, out);
  Tensor z = divide("div", *rounding == Rounding::Floor ? kernels::div_floor : kernels::div_trunc, x, y, out);
  return record("div", std::move(z), broadcast(x.or_undefined(), y.or_undefined()), save(),
                [](const Tensor& dz, const Saved&) { return Grads{zeros_like(dz), zeros_like(dz)}; });
}

Tensor floor_divide(const Operand& x, const Operand& y, Out out) {
  Tensor z = divide("floor_divide", kernels::div_floor, x, y, out);
  return record("floor_divide", std::move(z), broadcast(x.or_undefined(), y.or_undefined()), save(),
                [](const Tensor& dz, const Saved&) { return Grads{zeros_like(dz), zeros_like(dz)}; });
}

// x - y q, where q is constant almost everywhere.
static Tensor record_rest(const char* op, Tensor z, const Operand& x, const Operand& y, Rounding rounding) {
  const Tensor undefined;
  const bool saves = y.tensor != nullptr;  // only its gradient needs them
  return record(op, std::move(z), broadcast(x.or_undefined(), y.or_undefined()),
                save(saves ? x.or_undefined() : undefined, y.or_undefined()),
                [rounding, s = x.scalar](const Tensor& dz, const Saved& saved) {
                  if (!saved.needs(1)) return Grads{dz, Tensor()};
                  const Tensor a = saved[0];
                  return Grads{dz, -(dz * div(a.defined() ? Operand(a) : s, saved[1], rounding))};
                });
}

Tensor remainder(const Operand& x, const Operand& y, Out out) {
  return record_rest("remainder", divide("remainder", kernels::remainder, x, y, out), x, y, Rounding::Floor);
}
Tensor fmod(const Operand& x, const Operand& y, Out out) {
  return record_rest("fmod", divide("fmod", kernels::fmod, x, y, out), x, y, Rounding::Trunc);
}

Frexp frexp(const Tensor& x) {
  require_floating("frexp", "input", x);
  Tensor mantissa;
  const Tensor exponent = empty(x.shape(), DType::Int32);
  {
    const WithGradMode off(false);
    const Tensor values = clone(contiguous(cast(x, DType::Float64)));  // which represents the others exactly
    double* value = on_meta ? nullptr : values.data<double>();
    for (int64_t i = 0; !on_meta && i < values.numel(); ++i) {
      int power = 0;
      value[i] = std::frexp(value[i], &power);
      exponent.data<int32_t>()[i] = std::isfinite(value[i]) ? power : 0;
    }
    mantissa = cast(values, x.dtype());
  }
  mantissa = record("frexp", mantissa, inputs(x), save(exponent),
                    [](const Tensor& dy, const Saved& saved) { return Grads{dy / exp2(cast(saved[0], dy.dtype()))}; });
  return {mantissa, untracked(exponent)};
}

// The bits of a number without its sign increase with its magnitude.
template <class Bits>
static void step_bits(const Tensor& z, const double* x, const double* y) {
  Bits* bits = on_meta ? nullptr : z.data<Bits>();
  constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  for (int64_t i = 0; !on_meta && i < z.numel(); ++i) {
    if (x[i] == y[i]) continue;
    if (x[i] == 0) bits[i] = static_cast<Bits>((std::signbit(y[i]) ? sign : 0) | 1);
    else bits[i] = static_cast<Bits>((y[i] > x[i]) == (x[i] > 0) ? bits[i] + 1 : bits[i] - 1);
  }
}

Tensor nextafter(const Tensor& x, const Tensor& y) {
  const DType dtype = common_type(x, y);
  require<DTypeError>(is_floating(dtype), "nextafter: input and other must be floating, got ", x.dtype(), " and ",
                      y.dtype(), "; use input.float()");
  const Dims shape = broadcast_shapes("nextafter", x.shape(), y.shape());
  Tensor z;
  {
    const WithGradMode off(false);
    const auto filled = [&](const Tensor& t) { return contiguous(expand(cast(t, dtype), shape)); };
    const Tensor from = filled(x), to = filled(y), nan = logical_or(isnan(from), isnan(to));
    const Tensor a = cast(from, DType::Float64), b = cast(to, DType::Float64);
    z = contiguous(where(eq(from, to), to, from));
    if (itemsize(dtype) == 2) step_bits<uint16_t>(z, a.address<double>(), b.address<double>());
    else if (itemsize(dtype) == 4) step_bits<uint32_t>(z, a.address<double>(), b.address<double>());
    else step_bits<uint64_t>(z, a.address<double>(), b.address<double>());
    z = where(nan, std::numeric_limits<double>::quiet_NaN(), z);
  }
  return untracked(z);
}

}  // namespace genesis::ops
