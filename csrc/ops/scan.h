// Cumulative sums, products and extrema along one dimension.
#pragma once

#include <optional>

#include "ops/extreme.h"
#include "ops/inplace.h"

namespace genesis::ops {

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}, Out out = {});
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}, Out out = {});
Tensor cumsum_(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor cumprod_(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
WithIndices cummax(const Tensor& x, int64_t dim);
WithIndices cummin(const Tensor& x, int64_t dim);
Tensor logcumsumexp(const Tensor& x, int64_t dim);

// The product of all elements before each one, or after it if `reverse`.
Tensor cumprod_before(const Tensor& x, int64_t dim, bool reverse);

}  // namespace genesis::ops
