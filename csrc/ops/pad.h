// Padding.
#pragma once

#include "core/scalar.h"
#include "core/tensor.h"

namespace genesis::ops {

/// `pad` has two numbers for each dimension, from the last: elements of `value` before and after it. Negative ones
/// cut elements off.
Tensor constant_pad(const Tensor& x, const Dims& pad, Scalar value);

}  // namespace genesis::ops
