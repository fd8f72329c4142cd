#include "ops/select.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/select.h"
#include "ops/compare.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/elementwise.h"

namespace genesis::ops {

Tensor where(const Tensor& condition, const Operand& x, const Operand& y, Out out) {
  require<DTypeError>(condition.dtype() == DType::Bool || condition.dtype() == DType::UInt8,
                      "where: condition must be bool, got ", condition.dtype(), "; compare it, e.g. condition != 0");
  const DType dtype = common_type(x, y);
  for (const Operand* side : {&x, &y})
    if (side->is_scalar()) require_representable("where", side->scalar, dtype);
  Tensor z = result_memory("where", condition, x, y, dtype, out);
  kernels::where(z.view(), Source(condition, z), Source(x, z), Source(y, z));  // any dtype: values are only copied
  z = deliver("where", std::move(z), out);
  return record("where", std::move(z), broadcast(x.or_undefined(), y.or_undefined()), save(condition),
                [](const Tensor& dz, const Saved& saved) {
                  const Tensor condition = saved[0];
                  return Grads{saved.needs(0) ? where(condition, dz, 0.0) : Tensor(),
                               saved.needs(1) ? where(condition, 0.0, dz) : Tensor()};
                });
}

static Tensor extremum(const char* op, const kernels::Binary& kernel, const Operand& x, const Operand& y, Out out) {
  const DType dtype = common_type(x, y);
  return zip(op, kernel, Fitted(x, dtype), Fitted(y, dtype), dtype, out);
}

// The gradient of maximum(a, b) with respect to a. Linear in dy, constant in a and b.
static Tensor share(const Tensor& dy, const Operand& a, const Operand& b) {
  Tensor da = zip("maximum_backward", kernels::share, dy, a, b, dy.dtype(), {});
  return record("maximum_backward", std::move(da), inputs(dy), save(a.or_undefined(), b.or_undefined()),
                [s = a.scalar, t = b.scalar](const Tensor& dda, const Saved& saved) {
                  const Tensor a = saved[0], b = saved[1];
                  return Grads{share(dda, a.defined() ? Operand(a) : s, b.defined() ? Operand(b) : t)};
                });
}

Tensor maximum(const Operand& x, const Operand& y, Out out) {
  return record_zip("maximum", extremum("maximum", kernels::maximum, x, y, out), x, y,
                    [](const Tensor& dz, const Kept& x, const Kept& y, const Saved& saved) {
                      return Grads{saved.needs(0) ? share(dz, x, y) : Tensor(),
                                   saved.needs(1) ? share(dz, y, x) : Tensor()};
                    });
}

Tensor minimum(const Operand& x, const Operand& y, Out out) {
  return record_zip("minimum", extremum("minimum", kernels::minimum, x, y, out), x, y,
                    [](const Tensor& dz, const Kept& x, const Kept& y, const Saved& saved) {
                      return Grads{saved.needs(0) ? share(dz, y, x) : Tensor(),
                                   saved.needs(1) ? share(dz, x, y) : Tensor()};
                    });
}

// dz goes to x where x won, which includes NaN in y; otherwise to y.
static Grads to_winner(const Tensor& dz, Tensor won, const Operand& y, const Saved& saved) {
  if (y.tensor) won = logical_or(won, isnan(*y.tensor));
  return Grads{saved.needs(0) ? where(won, dz, 0.0) : Tensor(), saved.needs(1) ? where(won, 0.0, dz) : Tensor()};
}

Tensor fmax(const Operand& x, const Operand& y, Out out) {
  return record_zip("fmax", extremum("fmax", kernels::fmax, x, y, out), x, y,
                    [](const Tensor& dz, const Kept& x, const Kept& y, const Saved& saved) {
                      return to_winner(dz, ge(x, y), y, saved);
                    });
}

Tensor fmin(const Operand& x, const Operand& y, Out out) {
  return record_zip("fmin", extremum("fmin", kernels::fmin, x, y, out), x, y,
                    [](const Tensor& dz, const Kept& x, const Kept& y, const Saved& saved) {
                      return to_winner(dz, le(x, y), y, saved);
                    });
}

Tensor heaviside(const Operand& x, const Operand& values, Out out) {
  Tensor z = zip("heaviside", kernels::heaviside, x, values, common_type(x, values), out);
  return record("heaviside", std::move(z), broadcast(x.or_undefined(), values.or_undefined()), save(x.or_undefined()),
                [s = x.scalar](const Tensor& dz, const Saved& saved) {
                  const Tensor a = saved[0];
                  Tensor dx, dvalues;
                  if (saved.needs(0)) dx = zeros_like(dz);
                  if (saved.needs(1))
                    dvalues = a.defined() ? where(eq(a, 0), dz, 0.0) : s.to_double() == 0 ? dz : zeros_like(dz);
                  return Grads{dx, dvalues};
                });
}

static double largest(DType dtype) {
  switch (dtype) {
    case DType::Float16: return 65504.0;
    case DType::BFloat16: return 0x1.fep127;
    case DType::Float32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf, Out out) {
  if (is_complex(x.dtype())) {
    Tensor y = over_parts(x, [&](const Tensor& parts) { return nan_to_num(parts, nan, posinf, neginf); });
    return deliver("nan_to_num", std::move(y), out);
  }
  const double max = largest(x.dtype());
  const auto kernel = [&](View y, View v) {
    if (is_floating(x.dtype())) kernels::nan_to_num(y, v, nan, posinf.value_or(max), neginf.value_or(-max));
    else kernels::copy(y, v);
  };
  Tensor y = map("nan_to_num", kernel, x, x.dtype(), out);
  return record("nan_to_num", std::move(y), inputs(x), save(x),
                [](const Tensor& dy, const Saved& saved) { return Grads{where(isfinite(saved[0]), dy, 0.0)}; });
}

// dy where lo <= x <= hi, else 0.
static Tensor within(const Tensor& dy, const Tensor& x, double lo, double hi) {
  Tensor dx = empty_like(dy);
  kernels::within(dx.view(), dy.view(), x.view(), lo, hi);
  return record("clamp_backward", std::move(dx), inputs(dy), save(x),
                [lo, hi](const Tensor& ddx, const Saved& saved) { return Grads{within(ddx, saved[0], lo, hi)}; });
}

static Tensor clamp_scalars(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max, Out out) {
  const DType dtype = result_type({x, min ? *min : *max, max ? *max : *min});
  for (const std::optional<Scalar>* bound : {&min, &max})
    if (*bound && !std::isnan((*bound)->to_double())) require_fits("clamp", **bound, dtype);
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double lo = min ? min->to_double() : -inf, hi = max ? max->to_double() : inf;
  const auto kernel = [&](View y, View v) {
    const auto whole = [&](const std::optional<Scalar>& s, bool upper) {
      using Int = std::numeric_limits<int64_t>;
      using Small = std::numeric_limits<int32_t>;
      const int64_t bound = s ? s->to_int() : upper ? Int::max() : Int::min();
      return dtype == DType::Int64 ? bound : std::clamp<int64_t>(bound, Small::min(), Small::max());
    };
    if (std::isnan(lo) || std::isnan(hi)) kernels::copy(y, Operand(std::nan("")).view());
    else kernels::clamp_numbers(y, v, {lo, hi, whole(min, false), whole(max, true)});
  };
  return record("clamp", map("clamp", kernel, x, dtype, out), inputs(x), save(x),
                [lo, hi](const Tensor& dy, const Saved& saved) { return Grads{within(dy, saved[0], lo, hi)}; });
}

Tensor clamp(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max, Out out) {
  require(min || max, "clamp: at least one of min and max must be given");
  if ((!min || min->is_scalar()) && (!max || max->is_scalar()))
    return clamp_scalars(x, min ? std::optional(min->scalar) : std::nullopt,
                         max ? std::optional(max->scalar) : std::nullopt, out);
  // A missing bound is replaced by the other one; its side of the rule is ignored.
  const Operand lo = min ? *min : *max, hi = max ? *max : *min;
  const DType dtype = result_type({x, lo, hi});
  Tensor y;
  if (min && max) y = zip("clamp", kernels::clamp, x, lo, hi, dtype, out);
  else if (min) y = zip("clamp", kernels::maximum, x, lo, dtype, out);
  else y = zip("clamp", kernels::minimum, x, hi, dtype, out);
  const Tensor none;
  return record("clamp", std::move(y), broadcast(x, min ? min->or_undefined() : none, max ? max->or_undefined() : none),
                save(x, lo.or_undefined(), hi.or_undefined()),
                [has_min = min.has_value(), has_max = max.has_value(), s = lo.scalar, t = hi.scalar](
                    const Tensor& dy, const Saved& saved) {
                  const Tensor x = saved[0], a = saved[1], b = saved[2];
                  const Operand lo = a.defined() ? Operand(a) : s, hi = b.defined() ? Operand(b) : t;
                  Tensor inside, dx, dlo, dhi;
                  if (saved.needs(0)) {
                    if (has_min) inside = ge(x, lo);
                    if (has_max) inside = has_min ? logical_and(inside, le(x, hi)) : le(x, hi);
                    dx = where(inside, dy, 0.0);
                  }
                  if (saved.needs(1)) {
                    const Tensor below = lt(x, lo);
                    dlo = where(has_max ? logical_and(below, lt(lo, hi)) : below, dy, 0.0);
                  }
                  if (saved.needs(2)) {
                    const Tensor above = gt(x, hi);
                    dhi = where(has_min ? logical_or(above, lt(hi, lo)) : above, dy, 0.0);
                  }
                  return Grads{dx, dlo, dhi};
                });
}

}  // namespace genesis::ops
