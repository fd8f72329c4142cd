// Largest, smallest and middle elements. NaN counts as larger and smaller than everything; the first of equals is
// taken.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace genesis::ops {

struct WithIndices {
  Tensor values, indices;
};

// The gradient is shared evenly by all elements that are equal to the result.
Tensor amax(const Tensor& x, const Dims& dims, bool keepdim);
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim);
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
std::pair<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim);

// The gradient goes to the element at the index.
WithIndices max(const Tensor& x, int64_t dim, bool keepdim);
WithIndices min(const Tensor& x, int64_t dim, bool keepdim);
// Without dim, x is one line.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim);

// The lower one of two middle elements. NaN if there is one; nanmedian leaves them out.
Tensor median(const Tensor& x);
Tensor nanmedian(const Tensor& x);
WithIndices median(const Tensor& x, int64_t dim, bool keepdim);
WithIndices nanmedian(const Tensor& x, int64_t dim, bool keepdim);
// The most frequent element, the smallest of several; its last index.
WithIndices mode(const Tensor& x, int64_t dim, bool keepdim);

}  // namespace genesis::ops
