// Operators that move elements: joining, repeating, reversing, triangles and diagonals.
#pragma once

#include <optional>
#include <span>

#include "ops/inplace.h"
#include "ops/view.h"

namespace genesis::ops {

Tensor cat(std::span<const Tensor> xs, int64_t dim);
Tensor stack(std::span<const Tensor> xs, int64_t dim);
Tensor hstack(std::span<const Tensor> xs);
Tensor vstack(std::span<const Tensor> xs);
Tensor dstack(std::span<const Tensor> xs);
Tensor column_stack(std::span<const Tensor> xs);
Tensor block_diag(std::span<const Tensor> xs);
Tensor cartesian_prod(std::span<const Tensor> xs);
std::vector<Tensor> meshgrid(std::span<const Tensor> xs, bool xy);  // xy: the first two dimensions swapped
std::vector<Tensor> broadcast_tensors(std::span<const Tensor> xs);
Tensor atleast_nd(const Tensor& x, int n);

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim);
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim);
// Splits into `sections` parts that are as equal as possible, or at the given indices.
std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim);
std::vector<Tensor> tensor_split(const Tensor& x, const Dims& indices, int64_t dim);

Tensor repeat(const Tensor& x, const Dims& counts);
Tensor tile(const Tensor& x, const Dims& counts);
// dim < 0 counts from the end; without dim, x is flattened first.
Tensor repeat_interleave(const Tensor& x, int64_t count, std::optional<int64_t> dim);
Tensor repeat_interleave(const Tensor& x, const Tensor& counts, std::optional<int64_t> dim);
Tensor repeat_positions(const Tensor& counts);  // 0 counts[0] times, 1 counts[1] times, ...

Tensor flip(const Tensor& x, const Dims& dims);
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims);  // without dims, x is flattened
Tensor rot90(const Tensor& x, int64_t k, const Dims& dims);

Tensor diag(const Tensor& x, int64_t offset);
Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2);
Tensor tril(const Tensor& x, int64_t diagonal, Out out = {});
Tensor triu(const Tensor& x, int64_t diagonal, Out out = {});
Tensor tril_(const Tensor& x, int64_t diagonal);
Tensor triu_(const Tensor& x, int64_t diagonal);
Tensor triangle_indices(int64_t rows, int64_t cols, int64_t offset, bool upper, DType dtype);

}  // namespace genesis::ops
