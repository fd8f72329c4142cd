#include "ops/reduce.h"

#include "autograd/record.h"
#include "kernels/reduce.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::ops {

Tensor sum(const Tensor& x_in, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  const DType type = dtype.value_or(is_integral(x_in.dtype()) ? DType::Int64 : x_in.dtype());
  const Tensor x = cast(x_in, type);
  Dims kept = x.shape();
  InlineVec<bool, 8> drop(std::max(x.dim(), 1), dims.empty());
  for (int64_t dim : dims) drop[wrap_dim("sum", dim, x.dim())] = true;
  for (int d = 0; d < x.dim(); ++d)
    if (drop[d]) kept[d] = 1;
  Tensor y = zeros(kept, type);
  kernels::sum(y.view(), x.view());
  if (!keepdim) {
    Dims shape;
    for (int d = 0; d < x.dim(); ++d)
      if (!drop[d]) shape.push_back(x.size(d));
    y = alias(y, shape, contiguous_strides(shape));
  }
  return record("sum", y, inputs(x), save(), [kept, from = x.shape()](const Tensor& dy, const Saved&) {
    return Grads{expand(reshape(dy, kept), from)};
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

}  // namespace genesis::ops
