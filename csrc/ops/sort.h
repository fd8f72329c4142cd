// Sorting along a dimension. NaN is the largest value; the sort is stable.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace genesis::ops {

// Values and their original positions. Gradients of values are scattered to those positions.
struct Sorted {
  Tensor values, indices;
};
Sorted sort(const Tensor& x, int64_t dim, bool descending);
Tensor argsort(const Tensor& x, int64_t dim, bool descending);
Sorted topk(const Tensor& x, int64_t k, int64_t dim, bool largest);
Sorted kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim);  // k counts from 1

// The distinct values, ascending; NaN differs from itself. inverse: the index of each element's value; counts: the
// number of occurrences. With a dim, slices are compared.
struct Unique {
  Tensor values, inverse, counts;
};
Unique unique(const Tensor& x, std::optional<int64_t> dim);
// The same for consecutive elements only, in order.
Unique unique_consecutive(const Tensor& x, std::optional<int64_t> dim);

}  // namespace genesis::ops
