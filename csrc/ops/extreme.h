// Maxima, minima and medians. NaN propagates; ties go to the first element.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace genesis::ops {

struct WithIndices {
  Tensor values, indices;
};

// All elements that are equal to the result share the gradient evenly.
Tensor amax(const Tensor& x, const Dims& dims, bool keepdim);
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim);
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
std::pair<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim);

// The gradient goes to the element at the index.
WithIndices max(const Tensor& x, int64_t dim, bool keepdim);
WithIndices min(const Tensor& x, int64_t dim, bool keepdim);
// Without dim, x is flattened.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim);

// The lower of the two middle elements. NaN if there is one; nanmedian ignores NaN.
Tensor median(const Tensor& x);
Tensor nanmedian(const Tensor& x);
WithIndices median(const Tensor& x, int64_t dim, bool keepdim);
WithIndices nanmedian(const Tensor& x, int64_t dim, bool keepdim);
// The most frequent element, or the smallest of several; its last index.
WithIndices mode(const Tensor& x, int64_t dim, bool keepdim);

}  // namespace genesis::ops
