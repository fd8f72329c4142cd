// exp(x) / sum(exp(x)) along a dimension, and its logarithm.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace genesis::ops {

Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor softmin(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

}  // namespace genesis::ops
