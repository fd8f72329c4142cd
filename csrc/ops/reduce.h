// Reductions over some or all dimensions.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace genesis::ops {

// An empty `dims` means all of them.
Tensor sum(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype = {});
// The inverse of broadcasting: sums x down to `shape`.
Tensor sum_to(const Tensor& x, const Dims& shape);

}  // namespace genesis::ops
