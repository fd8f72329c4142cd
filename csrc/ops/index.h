// Indexing with arrays: x[i, j], x[mask], and writing there. What consists of integers and slices alone is a view
// (ops/view.h).
//
// `indices` stand for the dimensions of x from the front; an undefined one keeps its dimension. Integer tensors
// broadcast against each other; a mask stands for as many dimensions as it has. The dimensions of the indices come in
// the place of those they index, or first if these are parted by a dimension that is kept.
#pragma once

#include <span>
#include <variant>

#include "core/scalar.h"
#include "ops/view.h"

namespace genesis::ops {

using Value = std::variant<Tensor, Scalar>;

Tensor index(const Tensor& x, std::span<const Tensor> indices);
// The value broadcasts to the shape of x[indices] and is converted to x's dtype. A place that is named twice keeps the
// last value, or receives both if they accumulate.
Tensor index_put_(const Tensor& x, std::span<const Tensor> indices, const Value& value, bool accumulate);
Tensor index_put(const Tensor& x, std::span<const Tensor> indices, const Value& value, bool accumulate);
// x[index] = value for an index of integers and slices.
void basic_put_(const Tensor& x, const BasicIndex& index, const Value& value);

// Where x is not zero: one row of indices for each such element, or one vector for each dimension.
Tensor nonzero(const Tensor& x);
std::vector<Tensor> nonzero_tuple(const Tensor& x);

}  // namespace genesis::ops
