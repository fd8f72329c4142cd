// Batches of gradients: rows along a new first dimension, for a backward pass that computes many gradients at once.
#pragma once

#include <vector>

#include "autograd/node.h"

namespace genesis::engine {

// The shape of a batch of n gradients.
Dims batch_of(int64_t n, const Dims& shape);

// Gradient i of a batch.
Grads row(const Grads& batch, int64_t i);

// The inverse: one batch of all rows. If only some rows have a gradient, the others are zeros.
Grads stack_rows(const std::vector<Grads>& rows);

// sum_to() for every row.
Tensor sum_rows_to(const Tensor& batch, const Dims& shape);

// The result of an elementwise rule for a batch `dy`, with the batch dimension added if the rule does not depend on dy.
Tensor with_rows(Tensor grad, const Tensor& dy, const Dims* shape);

}  // namespace genesis::engine
