// Sorting along a dimension. NaN is the largest value; the sort is stable.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace genesis::ops {

// Values, and where each stood. Gradients of values go back to where they came from.
struct Sorted {
  Tensor values, indices;
};
Sorted sort(const Tensor& x, int64_t dim, bool descending);
Tensor argsort(const Tensor& x, int64_t dim, bool descending);
Sorted topk(const Tensor& x, int64_t k, int64_t dim, bool largest);
Sorted kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim);  // k counts from 1

// The different values, ascending; NaN differs from itself. inverse: which of them each element is; counts: how often
// each occurs. With a dim, whole slices are compared.
struct Unique {
  Tensor values, inverse, counts;
};
Unique unique(const Tensor& x, std::optional<int64_t> dim);
// The same for neighbours only, in the order they come.
Unique unique_consecutive(const Tensor& x, std::optional<int64_t> dim);

}  // namespace genesis::ops
