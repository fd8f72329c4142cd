// Writing by index. All indices are checked before anything is written; contributions to one element are combined in
// the order of the index, so that results do not depend on threads.
#pragma once

#include <string>

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

// x with x[..., index[..., j, ...], ...] = src[..., j, ...] along `dim`. src is at least as large as index, or one
// value. If an index repeats, the last one wins, and only that one receives a gradient.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Operand& src, Out out = {});
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Out out = {});

// The same with contributions combined: sum, prod, mean, amax or amin, including the existing element or
// (include_self=false) replacing it. Ties of amax and amin share the gradient evenly.
enum class Reduce { Sum, Prod, Mean, Amax, Amin };
Reduce reduce_named(const char* op, const std::string& name);
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Operand& src, Reduce reduce,
                      bool include_self = true, Out out = {});

// The same for slices, at a 1-d index.
Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Reduce reduce,
                    bool include_self = true, Out out = {});
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha = 1,
                 Out out = {});
Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Out out = {});
// Negative indices count from the end; value is a number or a 0-d tensor.
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value, Out out = {});

// x flattened, with source assigned (or added) at the indices; negative ones count from the end.
Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate, Out out = {});

Tensor scatter_(const Tensor& x, int64_t dim, const Tensor& index, const Operand& src);
Tensor scatter_add_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter_reduce_(const Tensor& x, int64_t dim, const Tensor& index, const Operand& src, Reduce reduce,
                       bool include_self);
Tensor index_reduce_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Reduce reduce,
                     bool include_self);
Tensor put_(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate);
Tensor index_add_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha);
Tensor index_copy_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_fill_(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value);

// Raises unless `index` can index x along `dim`: it has as many dimensions, and only `dim` may be larger.
void require_index_fits(const char* op, const Tensor& x, int dim, const Tensor& index);

}  // namespace genesis::ops
