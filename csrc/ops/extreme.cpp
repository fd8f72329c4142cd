#include "ops/extreme.h"

#include <limits>

#include "autograd/record.h"
#include "kernels/reduce/reduce.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/scatter.h"
#include "ops/select.h"
#include "ops/view.h"

namespace genesis::ops {

static void require_some(const char* op, const Tensor& x, const Reduction& r) {
  require(r.count > 0 || numel(r.kept) == 0, op, ": nothing to choose from: the input has shape ", x.shape(),
          ", and an empty dimension has no ", op, "; reduce over dimensions that are not empty");
}

// Divides dy evenly among the elements of x that are equal to y.
static Tensor share(const Tensor& dy_flat, const Tensor& x, const Tensor& y_flat, const Dims& dims, const Dims& kept) {
  const Tensor y = detach(restore(y_flat, kept));
  Tensor ties = eq(detach(x), y);
  // A plan must not depend on whether there is currently a NaN.
  if (!on_meta && (capture::observer || has_nan(y))) ties = logical_or(ties, logical_and(isnan(detach(x)), isnan(y)));
  return where(ties, restore(dy_flat, kept) / sum(ties, dims, true), 0.0);
}

static Tensor extreme(const char* op, const decltype(kernels::amax)& kernel, const Tensor& x, const Dims& dims,
                      bool keepdim) {
  const Reduction r(op, x, dims, keepdim);
  require_some(op, x, r);
  Tensor y = empty(r.shape, x.dtype());
  kernel(r.view(y), x.view());
  return record(op, y, inputs(x), save(x, output(y)), [dims, kept = r.kept](const Tensor& dy, const Saved& saved) {
    return Grads{share(dy, saved[0], saved[1], dims, kept)};
  });
}

Tensor amax(const Tensor& x, const Dims& dims, bool keepdim) {
  return extreme("amax", kernels::amax, x, dims, keepdim);
}
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim) {
  return extreme("amin", kernels::amin, x, dims, keepdim);
}
Tensor max(const Tensor& x) { return extreme("max", kernels::amax, x, {}, false); }
Tensor min(const Tensor& x) { return extreme("min", kernels::amin, x, {}, false); }

std::pair<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  const Dims dims = dim ? Dims{*dim} : Dims{};
  return {extreme("aminmax", kernels::amin, x, dims, keepdim), extreme("aminmax", kernels::amax, x, dims, keepdim)};
}

// ---- with indices ---------------------------------------------------------------------------------------------------

// Zeros of `shape` with dy at the indices along dim.
static Tensor put(const Tensor& dy, const Tensor& indices, const Dims& shape, int dim, const Dims& kept) {
  if (shape.empty()) return dy;
  return scatter(zeros(shape, dy.dtype()), dim, restore(indices, kept), reshape(dy, kept));
}

template <class Kernel>
static WithIndices along(const char* op, const Kernel& kernel, const Tensor& x, int64_t dim, bool keepdim) {
  const int d = wrap_dim(op, dim, x.dim());
  const Reduction r(op, x, {d}, keepdim);
  require<IndexError>(r.count > 0 || numel(r.kept) == 0, op, ": dim ", d, " of the input of shape ", x.shape(),
                      " is empty, and has no ", op);
  WithIndices y{empty(r.shape, x.dtype()), empty(r.shape, DType::Int64)};
  kernel(r.view(y.values), r.view(y.indices), x.view());
  untracked(y.indices);
  y.values = record(op, y.values, inputs(x), save(y.indices),
                    [shape = x.shape(), d, kept = r.kept](const Tensor& dy, const Saved& saved) {
                      return Grads{put(dy, saved[0], shape, d, kept)};
                    });
  return y;
}

WithIndices max(const Tensor& x, int64_t dim, bool keepdim) {
  return along("max", kernels::max_index, x, dim, keepdim);
}
WithIndices min(const Tensor& x, int64_t dim, bool keepdim) {
  return along("min", kernels::min_index, x, dim, keepdim);
}

template <class Kernel>
static Tensor where_extreme(const char* op, const Kernel& kernel, const Tensor& x, std::optional<int64_t> dim,
                            bool keepdim) {
  const WithGradMode off(false);
  const Tensor line = dim ? x : reshape(x, {-1});
  const int d = dim ? wrap_dim(op, *dim, x.dim()) : 0;
  const Reduction r(op, line, {d}, keepdim && dim);
  require<IndexError>(r.count > 0 || numel(r.kept) == 0, op, ": the input of shape ", x.shape(), " is empty",
                      dim ? " along that dimension" : "", ", and has no ", op);
  Tensor y = empty(r.shape, DType::Int64);
  kernel(View{nullptr, x.dtype(), 0, nullptr, nullptr}, r.view(y), line.view());
  if (!dim && keepdim) y = alias(y, Dims(x.dim(), 1), Dims(x.dim(), 1));
  return untracked(std::move(y));
}

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return where_extreme("argmax", kernels::max_index, x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return where_extreme("argmin", kernels::min_index, x, dim, keepdim);
}

// ---- by rank --------------------------------------------------------------------------------------------------------

WithIndices median(const Tensor& x, int64_t dim, bool keepdim) {
  return along("median", kernels::median, x, dim, keepdim);
}
WithIndices nanmedian(const Tensor& x, int64_t dim, bool keepdim) {
  return along("nanmedian", kernels::nanmedian, x, dim, keepdim);
}
WithIndices mode(const Tensor& x, int64_t dim, bool keepdim) { return along("mode", kernels::mode, x, dim, keepdim); }

template <class Kernel>
static Tensor middle(const char* op, const Kernel& kernel, const Tensor& x) {
  if (x.numel() > 0) {
    Tensor y;
    {
      const WithGradMode off(false);
      y = along(op, kernel, reshape(x, {-1}), 0, false).values;
    }
    return record(op, stand_in(y), inputs(x), save(x, kept_output(y)), [](const Tensor& dy, const Saved& saved) {
      Tensor share;  // equal elements share the gradient
      {
        const WithGradMode off(false);
        const Tensor x = saved[0], y = saved[1];
        const Tensor equal = cast(where(isnan(y), isnan(x), eq(x, y)), dy.dtype());
        share = equal / sum(equal, {}, false);
      }
      return Grads{where(gt(share, 0), dy * share, 0)};  // keep gradients that are not finite where they belong
    });
  }
  require_floating(op, "an empty input", x);
  return mul(sum(x, {}, false), std::numeric_limits<double>::quiet_NaN());
}
Tensor median(const Tensor& x) { return middle("median", kernels::median, x); }
Tensor nanmedian(const Tensor& x) { return middle("nanmedian", kernels::nanmedian, x); }

}  // namespace genesis::ops
