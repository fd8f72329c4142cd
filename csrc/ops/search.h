// Searching in sorted values, and counting. No result has a gradient.
#pragma once

#include <optional>

#include "ops/operand.h"

namespace genesis::ops {

// Where each of `values` would be put into the last dimension of `sorted` to keep it in order: before equal ones, or
// (right) after them. `sorter`, if given, is the order that sorts it. All but the last dimension agree, or `sorted` has
// only one.
Tensor searchsorted(const Tensor& sorted, const Operand& values, bool right, const Tensor& sorter, DType dtype);
// Whether each element is among `among`.
Tensor isin(const Operand& elements, const Operand& among, bool invert);
// How often each of 0, 1, 2, ... occurs, or the sum of its weights; at least `minlength` of them.
Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength);
// How many elements lie in each of `bins` equal parts of [min, max]; of the range of x if both are 0.
Tensor histc(const Tensor& x, int64_t bins, double min, double max);

}  // namespace genesis::ops
