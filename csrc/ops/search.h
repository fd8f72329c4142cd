// Searching in sorted values, and counting. No result has a gradient.
#pragma once

#include <optional>

#include "ops/operand.h"

namespace genesis::ops {

// The position at which each of `values` would be inserted into the last dimension of `sorted` to keep it sorted:
// before equal ones, or (right) after them. `sorter`, if given, is the permutation that sorts it. All but the last
// dimension agree, or `sorted` is 1-d.
Tensor searchsorted(const Tensor& sorted, const Operand& values, bool right, const Tensor& sorter, DType dtype);
// Whether each element is among `among`.
Tensor isin(const Operand& elements, const Operand& among, bool invert);
// The number of occurrences of each of 0, 1, 2, ..., or the sum of their weights; at least `minlength` of them.
Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength);
// The number of elements in each of `bins` equal parts of [min, max], or of the range of x if both are 0.
Tensor histc(const Tensor& x, int64_t bins, double min, double max);

}  // namespace genesis::ops
