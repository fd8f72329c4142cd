// Writing by index. All indices are checked before anything is written; contributions to one element are taken in the
// order of the index, so that results do not depend on threads.
#pragma once

#include <string>

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

// x with x[..., index[..., j, ...], ...] = src[..., j, ...] along `dim`. src is at least as large as index, or one
// value. Where an index repeats, the last one stays, and only that one gets a gradient.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Operand& src, Out out = {});
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Out out = {});

// The same for whole slices, at a 1-d index.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha = 1, Out out = {});
Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Out out = {});
// Negative indices count from the end; value is a number or a 0-d tensor.
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value, Out out = {});

Tensor scatter_(const Tensor& x, int64_t dim, const Tensor& index, const Operand& src);
Tensor scatter_add_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
Tensor index_add_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha);
Tensor index_copy_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_fill_(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value);

// Raises unless `index` can index x along `dim`: as many dimensions, none but `dim` larger.
void require_index_fits(const char* op, const Tensor& x, int dim, const Tensor& index);

}  // namespace genesis::ops
