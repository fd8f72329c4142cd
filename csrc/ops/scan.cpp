#include "ops/scan.h"

#include <limits>
#include <vector>

#include "autograd/record.h"
#include "kernels/complex/complex.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/reduce/scan.h"
#include "ops/binary.h"
#include "ops/compare.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/scatter.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

static DType scan_type(const Tensor& x, std::optional<DType> dtype) {
  return dtype.value_or(is_integral(x.dtype()) ? DType::Int64 : x.dtype());
}

// x with every element shifted by one along d, towards the end or (if `back`) the beginning; `fill` is inserted.
static Tensor shift(const Tensor& x, int d, bool back, double fill) {
  if (x.dim() == 0) return full({}, fill, x.dtype());
  Tensor y = full(x.shape(), fill, x.dtype());
  const int64_t n = x.size(d);
  if (n > 1) {
    const WithGradMode off(false);
    kernels::copy(slice(y, d, back ? 0 : 1, back ? n - 1 : n, 1).view(),
                  slice(x, d, back ? 1 : 0, back ? n : n - 1, 1).view());
  }
  return record("shift", std::move(y), inputs(x), save(),
                [d, back](const Tensor& dy, const Saved&) { return Grads{shift(dy, d, !back, 0)}; });
}

// y[i] = b[i] + a[i] y[i - 1] along d; if `reverse`, y[i] = b[i] + a[i] y[i + 1]. Closed under differentiation: the
// gradient of b is the same recurrence in the other direction.
static Tensor linear_scan(const Tensor& a, const Tensor& b, int d, bool reverse) {
  Tensor y = empty(b.shape(), b.dtype());
  if (is_complex(b.dtype())) kernels::complex_linear_scan(y.view(), a.view(), b.view(), d, reverse);
  else kernels::linear_scan(y.view(), a.view(), b.view(), d, reverse);
  return record("linear_scan", y, inputs(a, b), save(a, output(y)), [d, reverse](const Tensor& dy, const Saved& saved) {
    const Tensor db = linear_scan(shift(conj(saved[0]), d, !reverse, 0), dy, d, !reverse);
    return Grads{saved.needs(0) ? db * shift(conj(saved[1]), d, reverse, 0) : Tensor(), db};
  });
}
// Half precision is too inaccurate for accumulation: these run in float32.
static Tensor linear_scan_wide(const Tensor& a, const Tensor& b, int d, bool reverse) {
  const DType t = kernels::compute_type(b.dtype());
  return linear_scan(cast(a, t), cast(b, t), d, reverse);
}

// ---- cumsum ---------------------------------------------------------------------------------------------------------

static Tensor cumsum_along(const Tensor& x, int d, bool reverse, DType type, Out out) {
  if (is_complex(type)) {
    const Tensor y = over_parts(cast(x, type), [&](const Tensor& parts) {
      return x.dim() == 0 ? clone(parts) : cumsum_along(parts, d, reverse, parts.dtype(), {});
    });
    return deliver("cumsum", y, out);
  }
  Tensor y = destination("cumsum", x.shape(), type, out);
  if (x.numel() > 0) kernels::cumsum(y.view(), x.view(), d, reverse);
  y = deliver("cumsum", std::move(y), out);
  return record("cumsum", std::move(y), inputs(x), save(), [d, reverse](const Tensor& dy, const Saved&) {
    return Grads{cumsum_along(dy, d, !reverse, dy.dtype(), {})};
  });
}
Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype, Out out) {
  return cumsum_along(x, wrap_dim("cumsum", dim, x.dim()), false, scan_type(x, dtype), out);
}

// ---- cumprod --------------------------------------------------------------------------------------------------------

// With L the product of all elements before i, dx[i] = L[i] (dy[i] + x[i+1] dy[i+1] + x[i+1] x[i+2] dy[i+2] + ...),
// where the sum in parentheses satisfies a linear recurrence from the end: zeros in x need no special treatment.
static Tensor cumprod_along(const Tensor& x, int d, bool reverse, DType type, Out out) {
  Tensor y = destination("cumprod", x.shape(), type, out);
  if (x.numel() > 0 && is_complex(type)) {
    const WithGradMode off(false);
    kernels::complex_cumprod(y.view(), cast(x, type).view(), d, reverse);
  } else if (x.numel() > 0) {
    kernels::cumprod(y.view(), x.view(), d, reverse);
  }
  y = deliver("cumprod", std::move(y), out);
  return record("cumprod", std::move(y), inputs(x), save(x), [d, reverse](const Tensor& dy, const Saved& saved) {
    const Tensor x = conj(cast(saved[0], kernels::compute_type(dy.dtype())));
    const Tensor before = cumprod_along(shift(x, d, reverse, 1), d, reverse, x.dtype(), {});
    return Grads{before * linear_scan_wide(shift(x, d, !reverse, 0), dy, d, !reverse)};
  });
}
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype, Out out) {
  return cumprod_along(x, wrap_dim("cumprod", dim, x.dim()), false, scan_type(x, dtype), out);
}
Tensor cumprod_before(const Tensor& x, int64_t dim, bool reverse) {
  const int d = wrap_dim("cumprod", dim, x.dim());
  return cumprod_along(shift(x, d, reverse, 1), d, reverse, x.dtype(), {});
}

Tensor cumsum_(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return inplace("cumsum_", x, {},
                 [&](const Tensor& input, Out out) { return cumsum(input, dim, dtype.value_or(x.dtype()), out); });
}
Tensor cumprod_(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return inplace("cumprod_", x, {},
                 [&](const Tensor& input, Out out) { return cumprod(input, dim, dtype.value_or(x.dtype()), out); });
}

// ---- cummax, cummin -------------------------------------------------------------------------------------------------

template <class Kernel>
static WithIndices running_extreme(const char* op, const Kernel& kernel, const Tensor& x, int64_t dim) {
  if (is_complex(x.dtype())) refuse_complex(op, x.dtype());
  const int d = wrap_dim(op, dim, x.dim());
  const DType type = x.dtype(), compute = is_floating(type) ? kernels::compute_type(type) : DType::Int64;
  WithIndices y{empty(x.shape(), compute), empty(x.shape(), DType::Int64)};
  if (x.numel() > 0) {
    const WithGradMode off(false);
    kernel(y.values.view(), y.indices.view(), cast(x, compute).view(), d);
    y.values = cast(y.values, type);
  } else {
    y.values = empty(x.shape(), type);
  }
  untracked(y.indices);
  y.values = record(op, y.values, inputs(x), save(y.indices), [d](const Tensor& dy, const Saved& saved) {
    if (dy.dim() == 0) return Grads{dy};
    return Grads{scatter_add(zeros(dy.shape(), dy.dtype()), d, saved[0], dy)};
  });
  return y;
}
WithIndices cummax(const Tensor& x, int64_t dim) { return running_extreme("cummax", kernels::cummax, x, dim); }
WithIndices cummin(const Tensor& x, int64_t dim) { return running_extreme("cummin", kernels::cummin, x, dim); }

// ---- logcumsumexp ---------------------------------------------------------------------------------------------------

// exp(a - b) for a <= b, or 0 if both are -inf.
static Tensor exp_difference(const Tensor& a, const Tensor& b) {
  const Tensor none = eq(b, -std::numeric_limits<double>::infinity());
  return where(none, 0.0, exp(a - where(none, 0.0, b)));
}

// One element after the other: the order determines the branch of the logarithm.
static Tensor complex_logcumsumexp(const Tensor& x, int d) {
  const int64_t n = x.dim() == 0 ? 1 : x.size(d);
  if (n <= 1) return clone(x);
  std::vector<Tensor> parts{slice(x, d, 0, 1, 1)};
  for (int64_t i = 1; i < n; ++i) parts.push_back(logaddexp(slice(x, d, i, i + 1, 1), parts.back()));
  return cat(parts, d);
}

// dx[i] = sum over k >= i of dy[k] exp(x[i] - y[k]) = exp(x[i] - y[i]) s[i], with s[i] = dy[i] + exp(y[i] - y[i+1])
// s[i+1]. y increases, so nothing overflows.
Tensor logcumsumexp(const Tensor& input, int64_t dim) {
  const int d = wrap_dim("logcumsumexp", dim, input.dim());
  if (is_complex(input.dtype())) return complex_logcumsumexp(input, d);
  require_floating("logcumsumexp", "input", input);
  const Tensor x = cast(input, kernels::compute_type(input.dtype()));
  Tensor y = empty(x.shape(), x.dtype());
  if (x.numel() > 0) kernels::logcumsumexp(y.view(), x.view(), d);
  y = record("logcumsumexp", y, inputs(x), save(x, output(y)), [d](const Tensor& dy, const Saved& saved) {
    const Tensor y = saved[1];
    const Tensor decay = exp_difference(y, shift(y, d, true, 0));
    return Grads{exp_difference(saved[0], y) * linear_scan(decay, dy, d, true)};
  });
  return cast(y, input.dtype());
}

}  // namespace genesis::ops
