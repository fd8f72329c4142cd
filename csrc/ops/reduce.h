// Reductions over some or all dimensions. An empty `dims` means all of them.
#pragma once

#include <optional>
#include <utility>

#include "core/tensor.h"

namespace genesis::ops {

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype = {});
// The inverse of broadcasting: sums x down to `shape`.
Tensor sum_to(const Tensor& x, const Dims& shape);
Tensor mean(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype = {});
// Ignoring NaN.
Tensor nansum(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype = {});
Tensor nanmean(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype = {});

Tensor any(const Tensor& x, const Dims& dims, bool keepdim);
Tensor all(const Tensor& x, const Dims& dims, bool keepdim);
Tensor count_nonzero(const Tensor& x, const Dims& dims);
bool has_nan(const Tensor& x);
bool has_inf(const Tensor& x);

// Squared deviations from the mean, summed and divided by n - correction.
Tensor var(const Tensor& x, const Dims& dims, double correction, bool keepdim);
Tensor std(const Tensor& x, const Dims& dims, double correction, bool keepdim);  // the gradient at 0 is 0
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims, double correction, bool keepdim);
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Dims& dims, double correction, bool keepdim);

// (sum |x|^p)^(1/p); p may be 0 (the number of nonzero elements) or +-infinity (largest, smallest). The gradient at 0
// is 0.
Tensor norm(const Tensor& x, double p, const Dims& dims, bool keepdim, std::optional<DType> dtype = {});
Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim);

// ---- for other reductions -------------------------------------------------------------------------------------------

// Shapes of a reduction of x: `kept` has 1 for reduced dimensions, `shape` is that of the result.
struct Reduction {
  Dims kept, strides, shape;
  int64_t count = 1;  // elements per result
  Reduction(const char* op, const Tensor& x, const Dims& dims, bool keepdim);
  // y for a kernel, with the reduced dimensions.
  View view(const Tensor& y) const { return {y->data, y.dtype(), kept.size(), kept.data(), strides.data()}; }
};
// A result, or its gradient, in a shape that broadcasts with x.
Tensor restore(const Tensor& y, const Dims& kept);

}  // namespace genesis::ops
