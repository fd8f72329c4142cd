#include "ops/reduce.h"

#include <cmath>
#include <limits>

#include "autograd/record.h"
#include "kernels/elementwise/convert.h"
#include "kernels/reduce/reduce.h"
#include "ops/compare.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/extreme.h"
#include "ops/pointwise.h"
#include "ops/power.h"
#include "ops/scan.h"
#include "ops/select.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

Reduction::Reduction(const char* op, const Tensor& x, const Dims& dims, bool keepdim) : kept(x.shape()) {
  const int n = x.dim();
  if (dims.empty()) {
    count = x.numel();
    for (int d = 0; d < n; ++d) kept[d] = 1;
    strides = kept;
    if (keepdim) shape = kept;
    return;
  }
  InlineVec<bool, 8> drop(std::max(n, 1), false);
  for (int64_t dim : dims) {
    const int d = wrap_dim(op, dim, n);
    require(!drop[d], op, ": dim ", d, " appears twice in ", dims);
    drop[d] = true;
  }
  for (int d = 0; d < n; ++d)
    if (drop[d]) {
      count *= kept[d];
      kept[d] = 1;
    }
  strides = contiguous_strides(kept);
  if (keepdim) {
    shape = kept;
    return;
  }
  for (int d = 0; d < n; ++d)
    if (!drop[d]) shape.push_back(kept[d]);
}

Tensor restore(const Tensor& y, const Dims& kept) { return y.dim() == 0 || y.shape() == kept ? y : reshape(y, kept); }

// Memory for the result, filled with `start` if there is nothing to reduce.
static Tensor result(const Reduction& r, DType dtype, Scalar start) {
  return r.count == 0 ? full(r.shape, start, dtype) : empty(r.shape, dtype);
}

static DType sum_type(const Tensor& x, std::optional<DType> dtype) {
  return dtype.value_or(is_integral(x.dtype()) ? DType::Int64 : x.dtype());
}

// f(parts, dims) for the parts of a complex tensor, which have an additional last dimension.
template <class F>
static Tensor reduce_parts(const char* op, const Tensor& x, DType type, const Dims& dims, F&& f) {
  Dims all;
  for (int d = 0; d < (dims.empty() ? x.dim() : dims.size()); ++d)
    all.push_back(dims.empty() ? d : wrap_dim(op, dims[d], x.dim()));
  const Tensor z = cast(x, type);
  return x.dim() == 0 ? clone(z) : over_parts(z, [&](const Tensor& parts) { return f(parts, all); });
}

// ---- sums -----------------------------------------------------------------------------------------------------------

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  const DType type = sum_type(x, dtype);
  if (type == DType::Bool) return any(x, dims, keepdim);
  if (is_complex(type))
    return reduce_parts("sum", x, type, dims,
                        [&](const Tensor& parts, const Dims& d) { return sum(parts, d, keepdim); });
  const Reduction r("sum", x, dims, keepdim);
  Tensor y = result(r, type, 0);
  if (r.count > 0) kernels::sum(r.view(y), x.view(), 1);
  return record("sum", std::move(y), inputs(x), save(),
                [kept = r.kept, from = x.shape()](const Tensor& dy, const Saved&) {
                  return Grads{expand(restore(dy, kept), from)};
                });
}

Tensor sum_to(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  const int lead = x.dim() - shape.size();
  Dims dims;
  for (int d = 0; d < x.dim(); ++d)
    if (d < lead || (shape[d - lead] == 1 && x.size(d) != 1)) dims.push_back(d);
  Tensor y = dims.empty() ? x : sum(x, dims, true);
  return lead > 0 ? reshape(y, shape) : y;
}

Tensor mean(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  const DType type = dtype.value_or(x.dtype());
  require<DTypeError>(is_differentiable(type), "mean: the result must be floating, got ", type,
                      dtype ? "; pass a floating dtype" : "; use x.float(), or pass dtype=genesis.float32");
  if (is_complex(type))
    return reduce_parts("mean", x, type, dims,
                        [&](const Tensor& parts, const Dims& d) { return mean(parts, d, keepdim); });
  const Reduction r("mean", x, dims, keepdim);
  Tensor y = result(r, type, std::numeric_limits<double>::quiet_NaN());
  const double n = static_cast<double>(r.count);
  if (r.count > 0) kernels::sum(r.view(y), x.view(), n);
  return record("mean", std::move(y), inputs(x), save(),
                [kept = r.kept, from = x.shape(), n](const Tensor& dy, const Saved&) {
                  return Grads{expand(restore(dy / n, kept), from)};
                });
}

Tensor nansum(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  if (is_complex(x.dtype())) refuse_complex("nansum", x.dtype());
  return sum(is_floating(x.dtype()) ? where(isnan(x), 0.0, x) : x, dims, keepdim, dtype);
}

Tensor nanmean(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  require_floating("nanmean", "input", x);
  const Tensor numbers = logical_not(isnan(x));
  return nansum(x, dims, keepdim, dtype) / sum(numbers, dims, keepdim);
}

// ---- products -------------------------------------------------------------------------------------------------------

// Along one dimension. The gradient is the product of all other elements, computed from both sides, so that zeros are
// handled correctly.
static Tensor prod_along(const Tensor& x, int64_t dim, bool keepdim, DType type) {
  const Reduction r("prod", x, {dim}, keepdim);
  Tensor y = result(r, type, 1);
  if (r.count > 0 && is_complex(type)) {
    const WithGradMode off(false);
    const Tensor all = cumprod(x, dim, type);
    kernels::copy(r.view(y), (x.dim() == 0 ? all : slice(all, dim, r.count - 1, r.count, 1)).view());
  } else if (r.count > 0) {
    kernels::prod(r.view(y), x.view());
  }
  return record("prod", std::move(y), inputs(x), save(x),
                [kept = r.kept, dim, type](const Tensor& dy, const Saved& saved) {
                  const Tensor x = conj(cast(saved[0], type));
                  const Tensor others = cumprod_before(x, dim, false) * cumprod_before(x, dim, true);
                  return Grads{restore(dy, kept) * others};
                });
}

Tensor prod(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  const DType type = sum_type(x, dtype);
  if (type == DType::Bool) return all(x, dims, keepdim);
  if (dims.size() == 1) return prod_along(x, wrap_dim("prod", dims[0], x.dim()), keepdim, type);
  // Merge the reduced dimensions into one at the end.
  const Reduction r("prod", x, dims, keepdim);
  if (!tracked(x) && !is_complex(type)) {
    Tensor y = result(r, type, 1);
    if (r.count > 0) kernels::prod(r.view(y), x.view());
    return untracked(std::move(y));
  }
  Dims order, line;
  for (int d = 0; d < x.dim(); ++d)
    if (r.kept[d] == x.size(d)) {
      order.push_back(d);
      line.push_back(x.size(d));
    }
  for (int d = 0; d < x.dim(); ++d)
    if (r.kept[d] != x.size(d)) order.push_back(d);
  int64_t length = 1;
  for (int d = line.size(); d < order.size(); ++d) length *= x.size(static_cast<int>(order[d]));
  line.push_back(length);
  const Tensor lines = reshape(order.empty() ? x : permute(x, order), line);
  return reshape(prod_along(lines, line.size() - 1, false, type), r.shape);
}

// ---- logic ----------------------------------------------------------------------------------------------------------

Tensor any(const Tensor& x, const Dims& dims, bool keepdim) {
  const Reduction r("any", x, dims, keepdim);
  Tensor y = result(r, x.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, false);
  if (r.count > 0) kernels::any(r.view(y), x.view());
  return untracked(std::move(y));
}

Tensor all(const Tensor& x, const Dims& dims, bool keepdim) {
  const Reduction r("all", x, dims, keepdim);
  Tensor y = result(r, x.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, true);
  if (r.count > 0) kernels::all(r.view(y), x.view());
  return untracked(std::move(y));
}

Tensor count_nonzero(const Tensor& x, const Dims& dims) {
  const Reduction r("count_nonzero", x, dims, false);
  Tensor y = result(r, DType::Int64, 0);
  if (r.count > 0) kernels::count_nonzero(r.view(y), x.view());
  return untracked(std::move(y));
}

static bool any_of(const Tensor& condition) { return *any(condition, {}, false).data<bool>(); }
bool has_nan(const Tensor& x) { return is_differentiable(x.dtype()) && any_of(isnan(x)); }
bool has_inf(const Tensor& x) { return is_differentiable(x.dtype()) && any_of(isinf(x)); }

// ---- moments --------------------------------------------------------------------------------------------------------

static View no_view() { return {nullptr, DType::Float32, 0, nullptr, nullptr}; }

static Tensor moment(const char* op, const Tensor& x, const Reduction& r, double correction, bool root, Tensor* mean) {
  require_floating(op, "input", x);
  const Scalar nan = std::numeric_limits<double>::quiet_NaN();
  Tensor y = result(r, x.dtype(), nan);
  if (mean) *mean = result(r, x.dtype(), nan);
  if (r.count > 0) kernels::variance(r.view(y), mean ? r.view(*mean) : no_view(), x.view(), correction, root);
  return y;
}

// The gradient of var: dy * 2 (x - mean(x)) / (n - correction). As in PyTorch, if there are too few elements, it has
// the gradient of a division by zero.
static Tensor var_backward(const Tensor& dy, const Tensor& x, const Dims& dims, const Dims& kept, double over) {
  Tensor distance = x - mean(x, dims, true);
  distance = distance - mean(distance, dims, true);  // removes the rounding error of a large mean
  if (dims.empty() && over <= 0)
    return restore(dy, kept) *
           where(eq(distance, 0.0), std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  return distance * (restore(dy, kept) * (2.0 / over));
}
// The gradient of std = y: half of the gradient of y divided by y.
static Tensor half_over(const Tensor& dy, const Tensor& y) {
  const Tensor flat = eq(y, 0.0);
  return where(flat, 0.0, dy * 0.5 / where(flat, 1.0, y));
}
static double degrees(const Reduction& r, double correction) { return static_cast<double>(r.count) - correction; }

// The variance of complex numbers is the sum of the variances of their parts.
static Tensor complex_var(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  return var(real(x), dims, correction, keepdim) + var(imag(x), dims, correction, keepdim);
}

Tensor var(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  if (is_complex(x.dtype())) return complex_var(x, dims, correction, keepdim);
  const Reduction r("var", x, dims, keepdim);
  Tensor y = moment("var", x, r, correction, false, nullptr);
  return record("var", std::move(y), inputs(x), save(x),
                [dims, kept = r.kept, over = degrees(r, correction)](const Tensor& dy, const Saved& saved) {
                  return Grads{var_backward(dy, saved[0], dims, kept, over)};
                });
}

Tensor std(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  if (is_complex(x.dtype())) return sqrt(complex_var(x, dims, correction, keepdim));
  const Reduction r("std", x, dims, keepdim);
  Tensor y = moment("std", x, r, correction, true, nullptr);
  return record("std", y, inputs(x), save(x, output(y)),
                [dims, kept = r.kept, over = degrees(r, correction)](const Tensor& dy, const Saved& saved) {
                  return Grads{var_backward(half_over(dy, saved[1]), saved[0], dims, kept, over)};
                });
}

static Tensor mean_backward(const Tensor& dmean, const Dims& kept, const Dims& from, double n) {
  return expand(restore(dmean / n, kept), from);
}

std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  if (is_complex(x.dtype())) return {var(x, dims, correction, keepdim), mean(x, dims, keepdim)};
  const Reduction r("var_mean", x, dims, keepdim);
  Tensor y[2];
  y[0] = moment("var_mean", x, r, correction, false, &y[1]);
  record_outputs("var_mean", y, inputs(x), save(x),
                 [dims, kept = r.kept, over = degrees(r, correction), n = static_cast<double>(r.count)](
                     const Grads& dy, const Saved& saved) {
                   const Tensor x = saved[0];
                   Tensor dx = dy[0].defined() ? var_backward(dy[0], x, dims, kept, over) : Tensor();
                   if (dy[1].defined()) {
                     const Tensor part = mean_backward(dy[1], kept, x.shape(), n);
                     dx = dx.defined() ? dx + part : part;
                   }
                   return Grads{dx};
                 });
  return {y[0], y[1]};
}

std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  if (is_complex(x.dtype())) return {std(x, dims, correction, keepdim), mean(x, dims, keepdim)};
  const Reduction r("std_mean", x, dims, keepdim);
  Tensor y[2];
  y[0] = moment("std_mean", x, r, correction, true, &y[1]);
  record_outputs("std_mean", y, inputs(x), save(x, output(y[0])),
                 [dims, kept = r.kept, over = degrees(r, correction), n = static_cast<double>(r.count)](
                     const Grads& dy, const Saved& saved) {
                   const Tensor x = saved[0];
                   Tensor dx =
                       dy[0].defined() ? var_backward(half_over(dy[0], saved[1]), x, dims, kept, over) : Tensor();
                   if (dy[1].defined()) {
                     const Tensor part = mean_backward(dy[1], kept, x.shape(), n);
                     dx = dx.defined() ? dx + part : part;
                   }
                   return Grads{dx};
                 });
  return {y[0], y[1]};
}

// ---- norms ----------------------------------------------------------------------------------------------------------

static Tensor norm_backward(const Tensor& dy_flat, const Tensor& x, const Tensor& y_flat, double p, const Dims& dims,
                            const Dims& kept) {
  if (p == 0) return Tensor();  // a count has no gradient
  const Tensor dy = restore(dy_flat, kept);
  if (p == 1) return dy * sign(x);
  const Tensor y = restore(y_flat, kept);
  if (std::isinf(p)) {  // shared by all elements with the extreme magnitude
    const Tensor ties = eq(abs(detach(x)), detach(y));
    return where(ties, dy / sum(ties, dims, true), 0.0) * sign(x);
  }
  const Tensor flat = eq(y, 0.0);
  const Tensor safe = where(flat, 1.0, y);
  if (p == 2) return x * where(flat, 0.0, dy / safe);
  const Tensor zero = eq(x, 0.0);
  const Tensor ratio = where(zero, 1.0, abs(x) / safe);  // |x|^(p-1) / y^(p-1)
  const Tensor slope = where(zero, 0.0, sign(x) * pow(ratio, p - 1));
  return where(flat, 0.0, dy) * slope;
}

Tensor norm(const Tensor& input, double p, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  if (is_complex(input.dtype())) {
    require<DTypeError>(!dtype || is_complex(*dtype), "norm: dtype must be complex for a complex input, got ",
                        dtype.value_or(DType::Float32));
    return norm(abs(cast(input, dtype.value_or(input.dtype()))), p, dims, keepdim, {});
  }
  require_floating("norm", "input", input);
  require<DTypeError>(!dtype || is_floating(*dtype), "norm: dtype must be floating, got ",
                      dtype.value_or(DType::Float32));
  const Tensor x = cast(input, dtype.value_or(input.dtype()));
  const bool fused = p == 1 || p == 2 || p == std::numeric_limits<double>::infinity();
  const bool powers = !fused && p != 0 && !std::isinf(p);
  if (powers && x.dtype() != DType::Float64)  // |x|^p may exceed the range of other dtypes
    return cast(norm(cast(x, DType::Float64), p, dims, keepdim, {}), x.dtype());
  const Reduction r("norm", x, dims, keepdim);
  require(r.count > 0 || (p >= 0 && !std::isinf(p)), "norm: the ", p,
          "-norm of no elements is not defined, and the input has shape ", x.shape());
  // For one element, every norm but the count is its magnitude, whose powers may exceed the range of the dtype.
  const bool single = r.count == 1 && p != 0;
  Tensor y;
  if (fused || single) {
    y = result(r, x.dtype(), 0);
    if (r.count > 0) kernels::norm(r.view(y), x.view(), single ? std::numeric_limits<double>::infinity() : p);
  } else {
    const WithGradMode off(false);
    if (p == 0) y = sum(ne(x, 0.0), dims, keepdim, x.dtype());
    else if (std::isinf(p)) y = amin(abs(x), dims, keepdim);
    else y = pow(sum(pow(abs(x), p), dims, keepdim), 1 / p);
  }
  const Tensor none;
  return record("norm", y, inputs(x), save(x, output(p == 1 ? none : y)),
                [p, dims, kept = r.kept](const Tensor& dy, const Saved& saved) {
                  return Grads{norm_backward(dy, saved[0], saved[1], p, dims, kept)};
                });
}

// ---- logsumexp ------------------------------------------------------------------------------------------------------

Tensor logsumexp(const Tensor& input, const Dims& dims, bool keepdim) {
  if (is_complex(input.dtype())) {
    const Reduction r("logsumexp", input, dims, keepdim);
    if (r.count == 0) return log(sum(input, dims, keepdim));
    Tensor most;  // of the real parts, which determine the size of the exponentials
    {
      const WithGradMode off(false);
      most = amax(real(input), dims, true);
      most = where(isinf(most), 0.0, most);
    }
    const Tensor y = log(sum(exp(input - most), dims, keepdim));
    return y + reshape(most, y.shape());
  }
  const Tensor x = cast(input, floating_type(input.dtype()));
  const Reduction r("logsumexp", x, dims, keepdim);
  Tensor y = result(r, x.dtype(), -std::numeric_limits<double>::infinity());
  if (r.count > 0) kernels::logsumexp(r.view(y), x.view());
  return record("logsumexp", y, inputs(x), save(x, output(y)),
                [dims, kept = r.kept](const Tensor& dy, const Saved& saved) {
                  const Tensor y = restore(saved[1], kept);
                  // If every x is -inf, so is y, and x - y would be NaN: the gradient is 0 there.
                  const Tensor none = eq(y, -std::numeric_limits<double>::infinity());
                  const Tensor e = exp(saved[0] - where(none, 0.0, y));
                  // The sum is 1 up to the rounding of y, which is significant for large y.
                  return Grads{restore(dy, kept) * (e / where(none, 1.0, sum(e, dims, true)))};
                });
}

}  // namespace genesis::ops
