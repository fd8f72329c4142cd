#pragma once

#include "core/tensor.h"

namespace genesis::ops {

// A new tensor of values that lie, contiguous, in memory of no tensor. A capture keeps a copy of them.
Tensor literal(const void* values, const Dims& shape, DType dtype);

}  // namespace genesis::ops
