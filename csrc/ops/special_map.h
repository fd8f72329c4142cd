// Shared by the files of special functions: applies a function of doubles to every element, and records its rule.
#pragma once

#include <concepts>

#include "autograd/record.h"
#include "kernels/elementwise/elementwise.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/select.h"

namespace genesis::ops::special {

inline constexpr int64_t kGrain = kernels::kHeavyGrain / 16;

template <double (*F)(double)>
Tensor map(const char* op, const Tensor& x, Out out = {}) {
  const DType dtype = floating_type(x.dtype());
  if (is_complex(dtype)) refuse_complex(op, dtype);
  Tensor y = out ? destination(op, x.shape(), dtype, out) : empty_like(x, dtype);
  const kernels::Inner inner = [](char* const* data, unsigned scalars, int64_t n, const void*) {
    const double* from = reinterpret_cast<const double*>(data[1]);
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<double*>(data[0])[i] = F(from[scalars ? 0 : i]);
  };
  kernels::elementwise({{y.view(), DType::Float64}, {x.view(), DType::Float64}}, inner, nullptr, kGrain);
  return deliver(op, std::move(y), out);
}

// `derivative` takes x and y, or x only; only those are saved.
template <class Rule>
Tensor with_rule(const char* op, Tensor y, const Tensor& x, Rule derivative) {
  if constexpr (std::invocable<Rule, const Tensor&>)
    return record(op, y, inputs(x), save(x),
                  [derivative](const Tensor& dy, const Saved& saved) { return Grads{dy * derivative(saved[0])}; });
  else
    return record(op, y, inputs(x), save(x, output(y)), [derivative](const Tensor& dy, const Saved& saved) {
      return Grads{dy * derivative(saved[0], saved[1])};
    });
}

// y / x, and `at_zero` where x is 0.
inline Tensor quotient(const Tensor& y, const Tensor& x, double at_zero) {
  const Tensor zero = eq(x, 0);
  return where(zero, at_zero, y / where(zero, 1.0, x));
}

// Two operands as tensors of their common floating dtype.
struct Pair {
  Tensor x, y;
  Pair(const Operand& a, const Operand& b) {
    const DType dtype = floating_type(result_type({a, b}));
    if (is_complex(dtype)) refuse_complex("special", dtype);
    const auto made = [dtype](const Operand& o) {
      return o.is_scalar() ? full({}, o.scalar.to_double(), dtype) : cast(*o.tensor, dtype);
    };
    x = made(a);
    y = made(b);
  }
};

template <double (*F)(double, double)>
Tensor map_pair(const char* op, const Pair& p) {
  Tensor z = empty(broadcast_shapes(op, p.x.shape(), p.y.shape()), p.x.dtype());
  const kernels::Inner inner = [](char* const* data, unsigned scalars, int64_t n, const void*) {
    const double *x = reinterpret_cast<const double*>(data[1]), *y = reinterpret_cast<const double*>(data[2]);
    for (int64_t i = 0; i < n; ++i)
      reinterpret_cast<double*>(data[0])[i] = F(x[scalars & 2 ? 0 : i], y[scalars & 4 ? 0 : i]);
  };
  const DType wide = DType::Float64;
  kernels::elementwise({{z.view(), wide}, {p.x.view(), wide}, {p.y.view(), wide}}, inner, nullptr, kGrain);
  return z;
}

}  // namespace genesis::ops::special
