// Matrix products.
#pragma once

#include "core/tensor.h"

namespace genesis::ops {

Tensor matmul(const Tensor& x, const Tensor& y);

}  // namespace genesis::ops
