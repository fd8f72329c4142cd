// Views: other shapes on the same memory. Every view is differentiable and refers to its base (autograd/meta.h).
#pragma once

#include "autograd/record.h"

namespace genesis::ops {

struct Geometry {
  Dims shape, strides;
  int64_t offset;  // from the start of the storage
};
inline Geometry geometry(const Tensor& x) { return {x.shape(), x.strides(), x.offset()}; }
// Whether two elements may overlap.
bool may_overlap(const Dims& shape, const Dims& strides);
// Whether two elements overlap.
bool overlaps(const Dims& shape, const Dims& strides);
// x's values in memory with layout `g`, with zeros in its gaps (x itself if it already has that layout). Elements of g
// must not overlap.
Tensor with_geometry(const Tensor& x, const Geometry& g);
Tensor clone_with_geometry(const Tensor& x, const Geometry& g);

// Makes `y`, an alias of x, a view of x.
inline void link_view(const Tensor& y, const Tensor& x) {
  if (!grad_mode.inference) mark_view(y, x);
}

// An item of x[a, b, ...] that is not an array. Items apply to the dimensions of x from the front.
struct IndexItem {
  enum Kind : uint8_t { Select, Slice, NewAxis } kind;
  int64_t start = 0;            // of Select: the index, which may be negative
  int64_t count = 1, step = 1;  // of Slice, already clipped to the dimension
};
using BasicIndex = InlineVec<IndexItem, 4>;

// offset is relative to x's first element.
Tensor as_strided(const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset);
Tensor permute(const Tensor& x, const Dims& dims);
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination);
Tensor expand(const Tensor& x, const Dims& shape);  // -1 keeps a size
Tensor select(const Tensor& x, int64_t dim, int64_t index);
// start and end already clipped to the dimension.
Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step);
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor basic_index(const Tensor& x, const BasicIndex& index);
// The same memory outside any graph, for writing.
Tensor basic_index_alias(const Tensor& x, const BasicIndex& index);
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, const Dims& dims);
Tensor unsqueeze(const Tensor& x, int64_t dim);
// -1 is replaced by the size that matches the number of elements.
Tensor view(const Tensor& x, const Dims& shape);     // raises if a copy would be needed
Tensor reshape(const Tensor& x, const Dims& shape);  // copies if needed
Tensor view_dtype(const Tensor& x, DType dtype);     // the same bytes as another type; no gradient
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes);
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step);
Tensor detach(const Tensor& x);

// Several views from one node. The sizes must add up to x.size(dim).
std::vector<Tensor> split_sizes(const Tensor& x, const Dims& sizes, int64_t dim);
std::vector<Tensor> unbind(const Tensor& x, int64_t dim);

}  // namespace genesis::ops
