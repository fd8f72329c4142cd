// Indexing with arrays: x[i, j], x[mask], and assignment. Indexing with integers and slices only is a view
// (ops/view.h).
//
// `indices` apply to the dimensions of x from the front; an undefined one keeps its dimension. Integer tensors
// broadcast against each other; a mask indexes as many dimensions as it has. The dimensions of the indices replace
// those that they index, or come first if these are separated by a dimension that is kept.
#pragma once

#include <span>
#include <variant>

#include "core/scalar.h"
#include "ops/view.h"

namespace genesis::ops {

using Value = std::variant<Tensor, Scalar>;

Tensor index(const Tensor& x, std::span<const Tensor> indices);
// The value is broadcast to the shape of x[indices] and converted to x's dtype. If a place occurs twice, the last value
// wins, or both are added with `accumulate`.
Tensor index_put_(const Tensor& x, std::span<const Tensor> indices, const Value& value, bool accumulate);
Tensor index_put(const Tensor& x, std::span<const Tensor> indices, const Value& value, bool accumulate);
// x[index] = value for an index of integers and slices.
void basic_put_(const Tensor& x, const BasicIndex& index, const Value& value);

// The indices of the nonzero elements of x: one row per element, or one vector per dimension.
Tensor nonzero(const Tensor& x);
std::vector<Tensor> nonzero_tuple(const Tensor& x);

}  // namespace genesis::ops
