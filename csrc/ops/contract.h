// Products and sums over named or numbered dimensions, all implemented with matmul.
#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"

namespace genesis::ops {

/// Einstein's notation: "ij,jk->ik" is a matrix product. Letters are dimensions, `...` stands for any number of them.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);
/// The sum of products over the given dimensions of x and y, in pairs.
Tensor tensordot(const Tensor& x, const Tensor& y, const Dims& x_dims, const Dims& y_dims);
Tensor kron(const Tensor& x, const Tensor& y);
Tensor trace(const Tensor& x);
/// The product of matrices (the first and the last may be vectors) in the order of least work.
Tensor multi_dot(const char* op, const std::vector<Tensor>& tensors);
Tensor cross(const Tensor& x, const Tensor& y, int64_t dim);

// x^0, x^1, ... along a new last dimension with `columns` elements, or in reverse order. Integers become int64.
Tensor vander(const Tensor& x, int64_t columns, bool increasing);

}  // namespace genesis::ops
