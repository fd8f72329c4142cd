#include "ops/search.h"

#include <algorithm>
#include <cmath>

#include "autograd/record.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/index/gather.h"
#include "kernels/sort/search.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/indices.h"
#include "ops/pointwise.h"
#include "ops/select.h"
#include "ops/sort.h"
#include "ops/view.h"

namespace genesis::ops {

// As a contiguous tensor of the compute dtype.
static Tensor computed(const Operand& x, DType dtype) {
  const DType type = kernels::compute_type(dtype);
  return x.is_scalar() ? full({}, x.scalar, type) : contiguous(cast(*x.tensor, type));
}

Tensor searchsorted(const Tensor& sorted, const Operand& values, bool right, const Tensor& sorter, DType dtype) {
  const WithGradMode off(false);
  require(sorted.dim() > 0, "searchsorted: sorted_sequence must have at least one dimension");
  const Dims& shape = values.shape();
  const bool one_row = sorted.dim() == 1;
  if (!one_row) {
    bool agree = shape.size() == sorted.dim();
    for (int d = 0; agree && d < sorted.dim() - 1; ++d) agree = shape[d] == sorted.size(d);
    require(agree, "searchsorted: sorted_sequence of shape ", sorted.shape(), " and values of shape ", shape,
            " must agree in all dimensions but the last, or sorted_sequence have only one");
  }
  Tensor order;
  if (sorter.defined()) {
    require(sorter.shape() == sorted.shape(), "searchsorted: sorter has shape ", sorter.shape(),
            " but sorted_sequence ", sorted.shape());
    order = contiguous(checked_indices("searchsorted", sorter, sorted.dim() - 1, sorted.size(-1)));
  }
  const DType type = result_type({sorted, values});
  const Tensor in = computed(sorted, type), what = computed(values, type);
  Tensor y = empty(shape, DType::Int64);
  const int64_t n = one_row ? y.numel() : shape.back();
  if (y.numel() > 0)
    kernels::searchsorted(y.address<int64_t>(), in->data, order.defined() ? order.address<int64_t>() : nullptr,
                          what->data, in.dtype(), one_row ? 1 : y.numel() / n, sorted.size(-1), n, one_row, right);
  return untracked(cast(y, dtype));
}

Tensor isin(const Operand& elements, const Operand& among, bool invert) {
  const WithGradMode off(false);
  const DType type = result_type({elements, among});
  const Tensor x = computed(elements, type), list = computed(among, type);
  const Tensor sorted = sort(reshape(list, {list.numel()}), 0, false).values;
  Tensor y = empty(x.shape(), DType::Bool);
  kernels::is_member(y.address<bool>(), x->data, x.numel(), sorted->data, sorted.numel(), x.dtype());
  return untracked(invert ? logical_not(y) : y);
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength) {
  const WithGradMode off(false);
  require<DTypeError>(is_integral(x.dtype()), "bincount: input must hold integers, got ", x.dtype());
  require(x.dim() == 1, "bincount: input must have one dimension, got shape ", x.shape(), "; use input.reshape(-1)");
  require(minlength >= 0, "bincount: minlength must not be negative, got ", minlength);
  require(!weights.defined() || weights.shape() == x.shape(),
          "bincount: weights and input must have the same shape, got ", weights.defined() ? weights.shape() : x.shape(),
          " and ", x.shape());
  const Tensor bins = contiguous(cast(x, DType::Int64));
  const int64_t* data = bins.data<int64_t>();
  const int64_t outside = kernels::find_outside(bins.view(), 0, INT64_MAX);
  require(outside < 0, "bincount: input must not be negative, got ", outside < 0 ? 0 : data[outside], " at position ",
          outside);
  int64_t size = minlength;
  for (int64_t i = 0; i < bins.numel(); ++i) size = std::max(size, data[i] + 1);
  Tensor y, w;
  if (weights.defined())
    w = contiguous(cast(weights, weights.dtype() == DType::Float32 ? DType::Float32 : DType::Float64));
  y = zeros({size}, w.defined() ? w.dtype() : DType::Int64);
  kernels::count_into(y->data, data, bins.numel(), w.defined() ? w->data : nullptr, y.dtype());
  return untracked(std::move(y));
}

Tensor histc(const Tensor& x, int64_t bins, double min, double max) {
  const WithGradMode off(false);
  require_floating("histc", "input", x);
  require(bins > 0, "histc: bins must be positive, got ", bins);
  const Tensor values = computed(x, x.dtype());
  if (min == max && values.numel() > 0 && !on_meta) {
    const bool wide = values.dtype() == DType::Float64;
    const auto at = [&](int64_t i) {
      return wide ? values.data<double>()[i] : static_cast<double>(values.data<float>()[i]);
    };
    min = INFINITY;
    max = -INFINITY;
    bool nan = false;
    for (int64_t i = 0; i < values.numel(); ++i) {
      min = std::min(min, at(i));
      max = std::max(max, at(i));
      nan |= std::isnan(at(i));
    }
    if (nan) min = NAN;
  }
  if (min == max) {
    min -= 1;
    max += 1;
  }
  require(std::isfinite(min) && std::isfinite(max), "histc: the range from ", min, " to ", max,
          " is not finite; pass min and max");
  require(min < max, "histc: max must be larger than min, got min ", min, " and max ", max);
  if (is_half(x.dtype()) && !on_meta) {  // each step is rounded to the dtype of the data
    const Tensor line = reshape(x, {-1}), first = scalar_tensor(min, x.dtype()), last = scalar_tensor(max, x.dtype());
    const Tensor inside = logical_and(ge(line, first), le(line, last));
    const Tensor place =
        cast(where(inside, (line - first) * scalar_tensor(bins, x.dtype()) / (last - first), 0), DType::Int64);
    const Tensor bin = where(inside, minimum(place, bins - 1), bins);  // values outside go to an extra bin
    return untracked(cast(narrow(bincount(bin, Tensor(), bins + 1), 0, 0, bins), x.dtype()));
  }
  const Tensor counts = zeros({bins}, DType::Int64);
  kernels::histogram_into(counts.address<int64_t>(), values->data, values.dtype(), values.numel(), bins, min, max);
  return untracked(cast(counts, x.dtype()));
}

}  // namespace genesis::ops
