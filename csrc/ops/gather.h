// Reading by index: along a dimension, rows, or flat. Each is linear, and its transpose adds by index.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace genesis::ops {

// y[..., j, ...] = x[..., index[..., j, ...], ...]; index has as many dimensions as x and the shape of the result.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
// The transpose of gather: zeros of `shape`, with dy added at the indices, which must be valid.
Tensor gather_backward(const Tensor& dy, const Dims& shape, int dim, const Tensor& index);
// Slices of x, at a 1-d index.
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
// x is flattened; negative indices count from the end.
Tensor take(const Tensor& x, const Tensor& index);
// gather with x and index broadcast against each other; without dim, x is flattened.
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim);
// Rows of `weight`. Row `padding_idx` receives no gradient; with scale_grad_by_freq, the gradient of each row is
// divided by the number of times it was read.
Tensor embedding(const Tensor& index, const Tensor& weight, std::optional<int64_t> padding_idx,
                 bool scale_grad_by_freq);
/// Sums (or means) of rows of a float32 or float64 weight: row i of the result is that of the indices of row i.
Tensor embedding_bag(const Tensor& index, const Tensor& weight, bool mean, bool scale_grad_by_freq);
Tensor one_hot(const Tensor& index, int64_t num_classes);
// Whether all elements are true. A capture takes the answer for a check: a plan is left where it is another.
bool all_true(const Tensor& x);

}  // namespace genesis::ops
