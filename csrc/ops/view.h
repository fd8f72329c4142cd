// Views: other shapes on the same memory. Every view is differentiable and remembers its base (autograd/meta.h).
#pragma once

#include "autograd/record.h"

namespace genesis::ops {

struct Geometry {
  Dims shape, strides;
  int64_t offset;  // from the start of the storage
};
inline Geometry geometry(const Tensor& x) { return {x.shape(), x.strides(), x.offset()}; }
// x's values in memory laid out like `g` (x itself where it already is). g's elements must not overlap.
Tensor with_geometry(const Tensor& x, const Geometry& g);
Tensor clone_with_geometry(const Tensor& x, const Geometry& g);

// Makes `y`, an alias of x, a view of x.
inline void link_view(const Tensor& y, const Tensor& x) {
  if (!grad_mode.inference) mark_view(y, x);
}

// offset is relative to x's first element.
Tensor as_strided(const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset);
Tensor permute(const Tensor& x, const Dims& dims);
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
Tensor expand(const Tensor& x, const Dims& shape);  // -1 keeps a size
Tensor select(const Tensor& x, int64_t dim, int64_t index);
// start and end already clipped to the dimension.
Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step);
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, const Dims& dims);
Tensor unsqueeze(const Tensor& x, int64_t dim);
// -1 stands for whatever makes the number of elements right.
Tensor view(const Tensor& x, const Dims& shape);     // raises where a copy would be needed
Tensor reshape(const Tensor& x, const Dims& shape);  // copies where needed
Tensor detach(const Tensor& x);

}  // namespace genesis::ops
